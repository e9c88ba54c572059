#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
printf "arch=sm_90a head_dim=512\n  head_dim=512 arch=sm_90a # the same\r\narch=sm_80 kv_tile=32\n" >wanted.txt
swa-jit-warm --from wanted.txt --dry-run --cache-dir store | awk '{ print $1, $2, $3, $4, $5, $6 }' | sed 's/ *$//'
