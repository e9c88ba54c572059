#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy x.npy "|u1" 3,2,64
npy xi.npy "<i8" 4,16
run_files --extra-kv x.npy --extra-indices xi.npy --extra-inv-scale s.npy
