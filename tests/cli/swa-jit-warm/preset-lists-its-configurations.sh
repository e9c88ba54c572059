#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --preset deepseek-v4 --dry-run --cache-dir store --arch sm_90a |
  awk '{ print $1, $2, $3, $4, $5, $6 }' | sed 's/ *$//'
