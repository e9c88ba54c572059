#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/files.sh"
npy q.npy '<V2' 4,2,64
npy s.npy '<u2' 3,8
npy i.npy '<i8' 4,16
npy l.npy '<i8' 4
run_files
