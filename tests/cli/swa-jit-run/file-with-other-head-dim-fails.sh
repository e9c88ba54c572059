#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy kv.npy "|u1" 3,8,128
run_files
