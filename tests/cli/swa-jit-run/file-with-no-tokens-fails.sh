#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy q.npy "<u2" 0,2,64
npy i.npy "<i4" 0,16
npy l.npy "<i4" 0
run_files
