#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --q q --kv k --inv-scale s --indices i --lens l --num-heads 8
