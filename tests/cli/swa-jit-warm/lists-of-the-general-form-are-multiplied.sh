#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --kv-format footer_584 --sinks 0,1 --extra-size 0,512 --extra-format footer_584,footer_528 --dry-run \
  --json --cache-dir store --arch sm_90a | sed -n 's/.*"configuration": //p'
