#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/emulator.sh"
for arch in sm_80 sm_90a sm_100a; do
  run_small --device emulator:$arch >out || exit
  grep '^no GPU\|^on\|^pass' out
done
# That of --arch.
run_small --device emulator --arch sm_80 | grep '^on'
run_small --arch sm_90a | grep '^on'
