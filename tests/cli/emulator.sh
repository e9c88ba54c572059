#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases with the emulator: a small step, wherever the options say.
run_small() {
  swa-jit-run --num-tokens 5 --num-heads 3 --head-dim 64 --window-size 24 --block-size 8 --head-group 16 --kv-tile 16 \
    "$@"
}
