#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/device.sh"
run_small --out out.npy --lse lse.npy >out || exit
sed 's/[0-9.]* TB/<n> TB/; s/threads, [0-9]* registers, [0-9]*/threads, <n> registers, <n>/
  s/[0-9.]*e-[0-9]* /<error> /g; s/token [0-9]*, head [0-9]*/token <t>, head <h>/' out
# The header, and 128 bytes more than the shape says.
for file in out.npy lse.npy; do
  head -c 128 "$file" | grep -ao "{.*}"
  wc -c <"$file"
done
