#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
python3 "$CASES/npy.py" rows.npy "<f8" 16,64
swa-jit-run --write-pool kv.npy --kv-format bf16 --from rows.npy --block-size 8
