#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_80,sm_90a
swa-jit-warm --cache-dir store --verify | tail -n 1 | sed 's|, [0-9.]* [KMi]*B:|:|'
bad=$(ls store/swa_decode-sm_90a-*)
printf '\377' | dd of="$bad" bs=1 seek=100 conv=notrunc 2>/dev/null
swa-jit-warm --cache-dir store --list --quiet # reads the ends of files only
swa-jit-warm --cache-dir store --verify --quiet
echo "status $?, $(find store -name '*.bad-*' | wc -l) set aside"
swa-jit-warm --cache-dir store --verify --set-aside --quiet 2>/dev/null
echo "status $?, $(find store -name '*.bad-*' | wc -l) set aside"
swa-jit-warm --cache-dir store --verify --quiet
echo "status $?"
