#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --num-heads 8,16 --svg decode.svg
