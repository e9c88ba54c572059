#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases with files: zeros for four tokens, two heads and three blocks of eight slots.
npy() { python3 "$CASES/npy.py" "$@"; }
npy q.npy "<u2" 4,2,64
npy kv.npy "|u1" 3,8,64
npy s.npy "<f4" 24
npy i.npy "<i4" 4,16
npy l.npy "<i4" 4

run_files() {
  swa-jit-run --device gpu --cache-dir store --head-group 16 --kv-tile 16 \
    --q q.npy --kv kv.npy --inv-scale s.npy --indices i.npy --lens l.npy "$@"
}
