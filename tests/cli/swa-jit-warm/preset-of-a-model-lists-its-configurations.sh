#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
for preset in gpt-oss step3 deepseek-v4-flash; do
  swa-jit-warm --preset $preset --dry-run --json --cache-dir store --arch sm_90a | sed -n 's/.*"configuration": //p'
done
