#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --kv-format bf16 --q q.npy --kv kv.npy --inv-scale s.npy --indices i.npy --lens l.npy
