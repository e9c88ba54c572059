#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy kv.npy "|u1" 24,64
run_files
