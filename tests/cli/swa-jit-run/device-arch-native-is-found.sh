#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --cuda "$FAKE_LIBCUDA" --arch native --cache-dir store --num-tokens 1 --head-dim 64 \
  --head-group 16 --kv-tile 16 --repeat 1 |
  grep -o "swa_decode-sm_90a"
