#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_80,sm_90a
printf '\377' | dd of="$(ls store/swa_decode-sm_90a-*)" bs=1 seek=100 conv=notrunc 2>/dev/null
swa-jit-warm --cache-dir store --export layer.tar | sed 's/ of [0-9.]* [KMi]*B / /'
swa-jit-warm --cache-dir store --export layer.tar --quiet 2>/dev/null
echo "status $?"
tar -tf layer.tar | wc -l
swa-jit-warm --cache-dir store --export no-folder/layer.tar
echo "status $?"
swa-jit-warm --cache-dir store --export - --quiet >/dev/full 2>/dev/null
echo "status $?"
swa-jit-warm --cache-dir store --export - --json
echo "status $?"
ls
