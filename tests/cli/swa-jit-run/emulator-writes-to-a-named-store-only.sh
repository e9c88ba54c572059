#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/emulator.sh"
run_small --device emulator | grep '^pass'
find "$HOME" -name '*swa_decode-*' | grep -cv /probe/
run_small --device emulator --cache-dir store | grep -o '^origin   compiled\|^pass'
find store -name '*.ptx' | wc -l
run_small --device emulator --cache-dir store | grep -o '^origin   store\|^pass'
