#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
rm kv.npy
run_files
