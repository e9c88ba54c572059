#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --extra-size 512 --head-dim-v 0,128 --dry-run --cache-dir store --arch sm_90a >table
echo $?
swa-jit-warm --kv-format footer_528 --head-dim 256 --dry-run --cache-dir store --arch sm_90a >table
