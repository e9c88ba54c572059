#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet
for what in 0000 swa_decode.cubin head_dim=77; do
  swa-jit-warm --cache-dir store --show "$what"
  echo "status $?"
done
swa-jit-warm --cache-dir store --show "kernel=merge" | head -n 3
