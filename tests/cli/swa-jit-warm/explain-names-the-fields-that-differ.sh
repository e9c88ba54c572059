#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_90a --window-size 64,128
swa-jit-warm --cache-dir store --explain --arch sm_90a --window-size 64,100 --sinks 1,0 --kernel decode,merge
