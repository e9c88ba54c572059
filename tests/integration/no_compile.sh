#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A process that must not compile says which entry it lacks, and works once the entry is there.
. "$(dirname "$0")/common.sh"

export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_COUNT="$work/count"
for flags in 0 1; do
  if [ "$flags" = 0 ]; then
    SWA_JIT_NO_COMPILE=1 ask "$work/cold" --cache-dir "$work/store"
  else
    ask "$work/cold" --cache-dir "$work/store" --flags 1
  fi
  expect "$work/cold" status=SWA_JIT_NO_COMPILER compiles=0
  expect_part "$work/cold" 'swa_decode-sm_90a-hd512-hg16-kt16-w128' SWA_JIT_NO_COMPILE swa-jit-warm
done
[ "$(num_compiles)" = 0 ] || fail "something was compiled"

ask "$work/warm" --cache-dir "$work/store"
expect "$work/warm" origin=compiled
SWA_JIT_NO_COMPILE=1 ask "$work/again" --cache-dir "$work/store"
expect "$work/again" status=SWA_JIT_OK origin=store

# The reason names the field in which the nearest entry differs.
SWA_JIT_NO_COMPILE=1 ask "$work/near" --cache-dir "$work/store" --config 'arch=sm_90a kv_tile=64'
expect "$work/near" status=SWA_JIT_NO_COMPILER
expect_part "$work/near" kv_tile

# A wrong source is no matter of the store: the status is another one, and nothing is published.
FAKE_NVRTC_RESULT=6 ask "$work/wrong" --cache-dir "$work/store" --config 'arch=sm_90a kv_tile=64'
expect "$work/wrong" status=SWA_JIT_COMPILE_FAILED writes=0
expect_part "$work/wrong.log" 'kernel_templates/swa_decode.cu(1): error' 'log 1 > '
