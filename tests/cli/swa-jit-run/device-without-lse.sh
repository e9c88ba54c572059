#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/device.sh"
run_small --no-lse | tail -n 2 |
  sed 's/[0-9.]*e-[0-9]* /<error> /; s/token [0-9]*, head [0-9]*/token <t>, head <h>/'
