#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
FAKE_CUDA_FAULT=unwritten swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --num-tokens 1 --num-heads 1 \
  --head-dim 64 --window-size 1 --num-blocks 1 --block-size 1 --head-group 16 --kv-tile 16 --repeat 1 >out
status=$?
grep -E "^(problem|fault)" out
exit $status
