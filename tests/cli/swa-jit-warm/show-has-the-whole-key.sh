#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_90a
name=$(cd store && ls swa_decode-*)
digest=${name##*-}
swa-jit-warm --cache-dir store --show "$name" >by-name || exit
swa-jit-warm --cache-dir store --show "$(echo "$digest" | cut -c 1-8)" | diff - by-name || exit
swa-jit-warm --cache-dir store --show "arch=sm_90a" | diff - by-name || exit
sed '/^made/d; /^used/d; /^file bytes/d; /^compile ms/d' by-name
