#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
for format in e4m3_slot e4m3 bf16 footer_584 footer_528; do
  swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --num-tokens 5 --window-size 24 --block-size 8 --head-group 16 \
    --kv-tile 16 --repeat 3 --num-heads 3 --kv-format "$format" | sed -n "1p;\$p" || exit
done
