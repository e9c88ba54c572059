#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --num-splits 0,8,all
