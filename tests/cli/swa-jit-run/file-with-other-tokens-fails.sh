#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy l.npy "<i4" 5
run_files
