#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
export SWA_JIT_CACHE_DIR=store
swa-jit-warm --quiet --arch sm_80,sm_90a --kernel decode,merge
swa-jit-warm --quiet --export layer.tar
SWA_JIT_CACHE_LIMIT=1 swa-jit-warm --cache-dir copy --import layer.tar >/dev/null 2>errors
echo "exit status $?"
grep -c 'entries are gone again' errors
