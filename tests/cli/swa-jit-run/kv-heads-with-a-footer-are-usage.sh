#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --num-heads 16 --num-kv-heads 8 --kv-format footer_584
