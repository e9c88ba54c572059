#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --num-tokens 5 --window-size 24 --block-size 8 --head-group 16 \
  --kv-tile 16 --repeat 3 --num-heads 12 --num-kv-heads 2 --kv-format bf16 \
  --head-dim 192 --head-dim-v 128 --with-sinks --dependent --lse-form empty_plus_infinity | sed -n "1p;\$p"
