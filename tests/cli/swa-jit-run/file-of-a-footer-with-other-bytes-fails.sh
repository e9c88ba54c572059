#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy q.npy "<u2" 4,2,512
npy kv.npy "|u1" 3,8,576
swa-jit-run --kv-format footer_584 --q q.npy --kv kv.npy --indices i.npy --lens l.npy
