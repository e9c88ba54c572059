#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy kv.npy "|u1" 3,8,64 C 1
run_files
