#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/files.sh"
run_files --cuda "$FAKE_LIBCUDA" | tail -n 1
