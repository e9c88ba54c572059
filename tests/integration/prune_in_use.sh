#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# swa-jit-warm --prune while a program runs: the kernel that the program has got stays until the program has ended. From
# meson.build: WARM.
. "$(dirname "$0")/common.sh"

prune() {
  SWA_JIT_NVRTC=$NVRTC_FAKE "$WARM" --cache-dir "$work/store" --prune --max-bytes 0 --json >"$work/report"
}

SWA_JIT_NVRTC=$NVRTC_FAKE "$WARM" --quiet --arch sm_90a --window-size 128,256 --cache-dir "$work/store"
# It gets an entry of the store, and then compiles for a minute; by then it has the third lock file.
SWA_JIT_NVRTC=$NVRTC_FAKE FAKE_NVRTC_MS=60000 "$ASK" --cache-dir "$work/store" --config 'arch=sm_90a window_size=128' \
  --config 'arch=sm_90a window_size=512' >/dev/null 2>&1 &
program=$!
trap 'kill -9 "$program" 2>/dev/null || :; rm -rf "$work"' EXIT
for _ in $(seq 500); do
  [ "$(find "$work/store" -name '*.lock' | wc -l)" -lt 3 ] || break
  sleep 0.02
done
prune
expect_part "$work/report" '"removed": 1,' '"in_use": 1,' '"failed": 0,' '"is_in_use": true,'
case $(find_entry "$work/store") in
*-w128-*) ;;
*) fail "the entry in use is gone, or another stays" ;;
esac
kill -9 "$program"
wait "$program" || :
prune
expect_part "$work/report" '"removed": 1,' '"in_use": 0,'
[ -z "$(find_entry "$work/store")" ] || fail "an entry that nobody uses stays"
