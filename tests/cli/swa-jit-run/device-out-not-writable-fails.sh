#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/device.sh"
run_small --out missing/out.npy | tail -n 1
run_small --out missing/out.npy >/dev/null
