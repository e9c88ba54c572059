#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
echo text >q.npy
run_files
