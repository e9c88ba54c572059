#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --num-tokens 5 --window-size 24 --block-size 8 --head-group 16 \
  --kv-tile 16 --repeat 3 --num-heads 3 --kv-format footer_584 --extra-size 40 \
  --extra-format footer_528 --extra-block-size 2 --with-sinks --soft-cap 5 --lse-form base_2,with_sink |
  sed -n "1p;\$p"
