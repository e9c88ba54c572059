#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --write-pool kv.npy --from rows.npy --kv-format bf16 --write-inv-scale s.npy
