#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/device.sh"
run_small | grep -o "^origin *[a-z]*"
run_small | grep -o "^origin *[a-z]*"
