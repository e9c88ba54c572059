#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$CASES/files.sh"
npy sinks.npy "<f4" 3
run_files --sinks sinks.npy
