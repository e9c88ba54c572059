#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes that ask for one key at the same time compile it once; a builder that is killed holds nobody up.
. "$(dirname "$0")/common.sh"

# Report 57: processes that compile one key spoil each other's file.
num_askers=64
export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_COUNT="$work/count"
FAKE_NVRTC_MS=700
export FAKE_NVRTC_MS
pids=
for i in $(seq "$num_askers"); do
  ask "$work/answer$i" --cache-dir "$work/store" &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid" || fail "an asker failed"
done
[ "$(num_compiles)" = 1 ] || fail "$num_askers processes made $(num_compiles) compiles"
num_compiled=0
for i in $(seq "$num_askers"); do
  expect "$work/answer$i" status=SWA_JIT_OK write_failures=0
  if grep -qx origin=compiled "$work/answer$i"; then
    num_compiled=$((num_compiled + 1))
  else
    expect "$work/answer$i" origin=store compiles=0
  fi
done
[ "$num_compiled" = 1 ] || fail "$num_compiled processes say that they compiled"

# Two keys do not wait for each other.
: >"$work/count"
ask "$work/a" --cache-dir "$work/store" --config 'arch=sm_90a window_size=64' &
first=$!
ask "$work/b" --cache-dir "$work/store" --config 'arch=sm_90a window_size=32'
wait "$first" || fail "an asker failed"
expect "$work/a" origin=compiled lock_waits=0
expect "$work/b" origin=compiled lock_waits=0

# A builder killed in the middle of its compile.
: >"$work/count"
FAKE_NVRTC_MS=60000 "$ASK" --cache-dir "$work/store" --config 'arch=sm_90a window_size=96' >/dev/null 2>&1 &
builder=$!
tries=0
while [ "$(num_compiles)" != 1 ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 200 ] || fail "the builder did not begin"
  sleep 0.05
done
kill -9 "$builder"
wait "$builder" 2>/dev/null || true
FAKE_NVRTC_MS=0 ask "$work/after" --cache-dir "$work/store" --config 'arch=sm_90a window_size=96'
expect "$work/after" status=SWA_JIT_OK origin=compiled store_status=SWA_JIT_OK lock_waits=0
[ "$(num_compiles)" = 2 ] || fail "expected one compile after the killed one"
