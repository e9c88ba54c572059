#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
python3 "$CASES/rows.py" rows.npy 16,64
swa-jit-run --write-pool missing/kv.npy --kv-format bf16 --from rows.npy --block-size 8
