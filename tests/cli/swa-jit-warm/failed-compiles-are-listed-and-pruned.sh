#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What failed is remembered in the store: its operator sees it, its log and until when, and clears it.
export SWA_JIT_NVRTC="$NVRTC_FAKE"
list() {
  swa-jit-warm --cache-dir store --list | awk 'NR > 1' |
    sed 's/  */ /g; s/ [0-9a-f]\{12\} / <digest> /' |
    sed 's/ [0-9.]* B / /; s/ [0-9]* \(min\|s\) / <age> /; s/for [0-9]* min/for <n> min/'
}
FAKE_NVRTC_RESULT=6 swa-jit-warm --cache-dir store --arch sm_80,sm_90a --quiet 2>/dev/null
swa-jit-warm --cache-dir store --arch sm_100a --quiet
list
swa-jit-warm --cache-dir store --verify | tail -n 1
echo "verify: $?"
swa-jit-warm --cache-dir store --explain --arch sm_80 | sed 's/for [0-9]* min/for <n> min/; s/-[^ "]*\././'
swa-jit-warm --cache-dir store --show arch=sm_80 |
  sed '/^  /d; s/ [0-9]* B$//; s/[0-9-]*T[0-9:]*Z/<time>/; s/for [0-9]* min/for <n> min/'
echo "one expired, one damaged, one from a clock that was set back"
touch -d '2 hours ago' store/*-sm_80-*.failed
printf x >>"$(ls store/*-sm_90a-*.failed)"
FAKE_NVRTC_RESULT=6 swa-jit-warm --cache-dir store --arch sm_89,sm_120a --quiet 2>/dev/null
touch -d '2 hours' store/*-sm_120a-*.failed
list
swa-jit-warm --cache-dir store --verify --set-aside --quiet
echo "verify: $?"
swa-jit-warm --cache-dir store --prune --dry-run | tail -n 1 | sed 's/ of [0-9.]* [KMGi]*B / /g'
swa-jit-warm --cache-dir store --prune --json | grep '"why"\|"removed"\|"kept"'
list
swa-jit-warm --cache-dir store --export - 2>/dev/null | tar -tf - | wc -l
