#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/gpu-check's step "examples" runs every program of examples/ and tells right and wrong apart.
# Arguments: gpu-check, the build folder, the fake libcuda (tests/cli).
set -eu
gpu_check=$1
build=$2
export SWA_JIT_CUDA="$3"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS SUMMARY: how the step ends.
expect() {
  status=0
  "$gpu_check" --build "$build" --output "$work" examples >"$work/output" 2>&1 || status=$?
  if [ "$status" != "$1" ] || ! grep -q "^gpu-check: examples $2" "$work/output"; then
    cat "$work/output"
    echo "FAILED: exit code $status, not $1 and \"examples $2\""
    exit 1
  fi
}

expect 0 passed
for program in flashmla_like gpt_oss_layer merge_by_lse; do
  grep -q "^$program on Fake device: right" "$work/examples.log"
done
export FAKE_CUDA_FAULT=wrong
expect 1 FAILED
grep -q "flashmla_like on Fake device: wrong" "$work/examples.log"
