#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_80
export SWA_JIT_READ_ONLY=1
swa-jit-warm --cache-dir store --prune --max-bytes 0 >out
status=$?
swa-jit-warm --cache-dir store --prune --max-bytes 0 --dry-run | tail -n 1 >>out
sed 's/ [0-9.]* [KMi]*B / some /g' out
exit $status
