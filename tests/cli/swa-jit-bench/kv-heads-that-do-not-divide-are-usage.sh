#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --num-heads 64,12 --num-kv-heads 8
