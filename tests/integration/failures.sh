#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compile that its source makes fail is made once by all who share the store, for a while; what can be cured is tried
# again.
. "$(dirname "$0")/common.sh"

num_askers=16
export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_COUNT="$work/count"

# refused ANSWER ARGUMENT...: an answer of a compiler that refuses the source.
refused() {
  FAKE_NVRTC_RESULT=6 ask "$@" --cache-dir "$work/store"
}

# expect_compiles NUMBER WHAT: so many since the last time.
expect_compiles() {
  [ "$(num_compiles)" = "$1" ] || fail "$2: $(num_compiles) compiles, not $1"
  : >"$work/count"
}

pids=
for i in $(seq "$num_askers"); do
  FAKE_NVRTC_MS=300 refused "$work/answer$i" &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid" || fail "an asker failed"
done
expect_compiles 1 "$num_askers ranks"
num_remembered=0
for i in $(seq "$num_askers"); do
  expect "$work/answer$i" status=SWA_JIT_COMPILE_FAILED writes=0
  expect_part "$work/answer$i" 'error: refused by the stand-in'
  if grep -qx failures_remembered=1 "$work/answer$i"; then
    num_remembered=$((num_remembered + 1))
    expect_part "$work/answer$i" '.failed'
  fi
done
[ "$num_remembered" = $((num_askers - 1)) ] || fail "$num_remembered ranks were told of another's failure"
failed=$(find "$work/store" -name '*.failed')
[ "$(echo "$failed" | wc -l)" = 1 ] || fail "not one failure is kept: $failed"
expect_part "$failed" 'kernel_templates/swa_decode.cu(1): error: refused by the stand-in' window_size:3=128
[ -z "$(find_entry "$work/store")" ] || fail "an entry was published"

# Twice in one process: remembered there, too.
refused "$work/twice" --config arch=sm_90a --config arch=sm_90a
[ "$(grep -cx status=SWA_JIT_COMPILE_FAILED "$work/twice")" = 2 ] || fail "not refused twice"
expect_compiles 0 'a later process'

# Whoever asks for the compiler's log gets it, whoever compiled.
refused "$work/log" --log
expect "$work/log" status=SWA_JIT_COMPILE_FAILED log_status=SWA_JIT_OK \
  'log_text=kernel_templates/swa_decode.cu(1): error: refused by the stand-in'
expect_compiles 0 'who asks for the log'
FAKE_NVRTC_RESULT=6 ask "$work/log_here" --flags 8 --log
expect "$work/log_here" log_status=SWA_JIT_OK \
  'log_text=kernel_templates/swa_decode.cu(1): error: refused by the stand-in'
expect_compiles 1 'a process without a store'

# Another configuration has another source, another NVRTC may take this one.
refused "$work/other" --config 'arch=sm_90a window_size=64'
expect_compiles 1 'another configuration'
FAKE_NVRTC_VERSION=13010 refused "$work/other_nvrtc"
expect "$work/other_nvrtc" status=SWA_JIT_COMPILE_FAILED failures_remembered=0
expect_compiles 1 'another NVRTC'

# An hour later; a file that somebody changed; a removed one.
FAKE_NVRTC_VERSION=13010 refused "$work/soon"
expect_compiles 0 'before an hour is over'
touch -d '2 hours ago' "$failed"
FAKE_NVRTC_VERSION=13010 refused "$work/late"
expect_compiles 1 'two hours later'
echo >>"$failed"
FAKE_NVRTC_VERSION=13010 refused "$work/changed"
expect_compiles 1 'a changed file'
rm "$failed"
FAKE_NVRTC_VERSION=13010 refused "$work/removed"
expect_compiles 1 'a removed file'

# A success ends it.
ask "$work/good" --cache-dir "$work/store"
expect "$work/good" status=SWA_JIT_OK origin=compiled writes=1
[ ! -e "$failed" ] || fail "the failure is kept beside the entry"
expect_compiles 1 'the compiler of before'

# What is not the source's fault is nobody's memory; nor is anything kept where nothing may be written.
FAKE_NVRTC_RESULT=5 ask "$work/wrong_option" --cache-dir "$work/store" --config 'arch=sm_90a window_size=32'
FAKE_NVRTC_RESULT=5 ask "$work/wrong_option" --cache-dir "$work/store" --config 'arch=sm_90a window_size=32'
expect_compiles 2 'a failure of the surroundings'
export SWA_JIT_READ_ONLY=1
refused "$work/read_only" --config 'arch=sm_90a window_size=32'
refused "$work/read_only" --config 'arch=sm_90a window_size=32'
expect_compiles 2 'a read-only store'
[ "$(find "$work/store" -name '*.failed' | wc -l)" = 1 ] || fail "more is kept than the other configuration's failure"
