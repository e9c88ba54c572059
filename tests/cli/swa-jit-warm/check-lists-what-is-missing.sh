#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --check --arch sm_90a --window-size 64,128 >missing
echo "status $?"
cat missing
ls -d store 2>/dev/null
swa-jit-warm --cache-dir store --from missing --quiet
swa-jit-warm --cache-dir store --check --arch sm_90a --window-size 64,128
