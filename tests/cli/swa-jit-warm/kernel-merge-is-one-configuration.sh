#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-warm --kernel merge --arch sm_90a,sm_100a --head-group 16,64 --dry-run --cache-dir store
swa-jit-warm --kernel decode,merge --preset deepseek-v4 --arch sm_90a --dry-run --cache-dir store | grep -c merge
swa-jit-warm --kernel merge --arch sm_90a --cache-dir store --quiet
swa-jit-warm --kernel merge --arch sm_90a --cache-dir store --dry-run | awk '{ print $NF, $(NF - 1) }' | sed '1d;$d'
