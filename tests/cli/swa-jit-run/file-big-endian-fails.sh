#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy i.npy ">i4" 4,16
run_files
