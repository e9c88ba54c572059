#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
rows() { awk '{ print $1, $2, $3, $4, $5, $NF }' | sed '$d'; }
swa-jit-warm --cache-dir store --jobs 1 --arch sm_90a,sm_100a | rows
swa-jit-warm --cache-dir store --jobs 1 --arch sm_90a,sm_100a 2>/dev/null | rows
find store -name '*.cubin' | wc -l
swa-jit-warm --cache-dir store --dry-run --arch sm_90a,sm_100a | awk '{ print $1, $6 }' | sed '1d;$d'
