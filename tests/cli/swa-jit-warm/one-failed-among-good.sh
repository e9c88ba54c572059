#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
# What is held needs no compiler; what is not held fails.
swa-jit-warm --cache-dir store --jobs 1 --quiet || exit
swa-jit-warm --cache-dir store --jobs 1 --nvrtc "$TMP/no-nvrtc.so" --arch sm_100a,sm_90a >out 2>err
status=$?
awk '{ print $1, $NF }' out | sed '$d'
grep -o 'SWA_JIT_NO_COMPILER' err
exit $status
