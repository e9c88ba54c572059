#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy q.npy "<u2" 4,2,100
npy kv.npy "|u1" 3,8,100
run_files
