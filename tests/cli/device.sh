#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases with the fake device (fake_libcuda.c): a small step on it.
run_small() {
  swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --num-tokens 5 --num-heads 3 --head-dim 64 --window-size 24 \
    --block-size 8 --head-group 16 --kv-tile 16 --repeat 3 "$@"
}
