#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy q.npy "<f4" 4,2,64
run_files
