#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-warm --cache-dir store --jobs 1 --quiet || exit
export SWA_JIT_READ_ONLY=1
swa-jit-warm --cache-dir store --jobs 1 --quiet --dump-source source --dump-ptx ptx
echo "status $?, $(find source ptx -type f | wc -l) dumps"
swa-jit-warm --cache-dir store --jobs 1 --arch sm_90a,sm_100a >out
echo "status $?"
awk '{ print $1, $NF }' out | sed '$d'
tail -n 1 out
swa-jit-warm --cache-dir store --dry-run --arch sm_90a,sm_100a | tail -n 1
