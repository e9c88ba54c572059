#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --device gpu --cache-dir store --arch sm_90a --num-tokens 1 --head-group 16 --kv-tile 16
