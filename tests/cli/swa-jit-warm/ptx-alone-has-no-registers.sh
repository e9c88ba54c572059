#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ptxas, whose figures they are, does not run.
export SWA_JIT_NVRTC="$NVRTC_FAKE" SWA_JIT_USE_PTX=1
swa-jit-warm --cache-dir store --arch sm_80 2>/dev/null | awk 'NR == 2 { print $6, $7, $8, $NF }'
swa-jit-warm --cache-dir store --list | awk 'NR == 2 { print $1, $4, $5, $6 }'
swa-jit-warm --cache-dir store --list --json | grep -E '"(registers|spill_[a-z]*_bytes)"'
name=$(cd store && ls swa_decode-*)
swa-jit-warm --cache-dir store --show "$name" | grep -cE '^(registers|spill) '
SWA_JIT_USE_PTX=0 swa-jit-warm --cache-dir store --arch sm_80 2>/dev/null | awk 'NR == 2 { print $6, $7, $8, $NF }'
