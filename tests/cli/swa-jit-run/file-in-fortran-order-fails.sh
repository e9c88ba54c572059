#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy q.npy "<u2" 4,2,64 F
run_files
