#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --num-kv-heads 8 --extra-size 512
