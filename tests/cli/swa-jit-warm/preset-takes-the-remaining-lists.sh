#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --preset mimo-v2 --kv-format bf16,e4m3 --lse 0,1 --index-type int64 --dry-run --json \
  --cache-dir store --arch sm_90a | sed -n 's/.*"configuration": //p'
