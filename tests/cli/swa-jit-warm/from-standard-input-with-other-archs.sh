#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
printf "arch=sm_90a head_dim=512\n" | swa-jit-warm --from - --arch sm_100a,sm_103a --dry-run --cache-dir store |
  awk '{ print $1, $2, $3, $4, $5, $6 }' | sed 's/ *$//'
