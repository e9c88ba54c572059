#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/device.sh"
run_small --num-splits 3 >out || exit
sed -n 's/: 256 threads.*//; s/of [0-9]* bytes/of <n> bytes/; 3,5p; $p' out
