#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy kv.npy "<u2" 3,8,2,64
npy v.npy "<u2" 3,8,1,64
swa-jit-run --kv-format bf16 --q q.npy --kv kv.npy --indices i.npy --lens l.npy --v v.npy
