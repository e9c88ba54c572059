#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --num-heads 12 --num-kv-heads 8
