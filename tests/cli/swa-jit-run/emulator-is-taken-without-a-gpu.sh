#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/emulator.sh"
run_small >out || exit
sed 's/threads, [0-9]* bytes/threads, <n> bytes/; s/[0-9.]*e-[0-9]* /<error> /g
  s/token [0-9]*, head [0-9]*/token <t>, head <h>/; s/runs the step (.*)/runs the step (<reason>)/' out
