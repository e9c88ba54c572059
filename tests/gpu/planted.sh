#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checks of several launches can fail: the fake device plants the faults that they are for (FAKE_CUDA_FAULT of
# tests/cli/fake_libcuda.c). Arguments: test_gpu, the fake libcuda, a folder for the kernels.
set -eu
test_gpu=$1
export SWA_JIT_CUDA="$2" FAKE_CUDA_GRAPHS=run
store=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  cat "$work/output"
  echo "FAILED: $*"
  exit 1
}

# expect_found FAULT SET WORDS NAME...: with the fault, each of the set's checks by these names fails with these words.
expect_found() {
  fault=$1
  set=$2
  words=$3
  shift 3
  status=0
  FAKE_CUDA_FAULT=$fault "$test_gpu" --sets "$set" --rounds 1 --limit 140 --cache-dir "$store" >"$work/output" ||
    status=$?
  [ "$status" = 1 ] || fail "with the fault \"$fault\" exit code $status, not 1"
  for name in "$@"; do
    grep -xF -A 1 "FAILED $name" "$work/output" | grep -qF "$words" || fail "$name does not find the fault \"$fault\""
  done
}

# Steps that share nothing but a workspace give the same in any order.
expect_found early dependent "has other bits" "dependent: pool_of_the_step_before" \
  "dependent: queries_of_the_step_before" "dependent: extra_scope_of_the_step_before" \
  "dependent: values_of_the_step_before" "dependent: pool_of_the_step_before_an_empty_one" \
  "dependent: pool_written_again_behind_its_reader" "dependent: pool_of_the_merge_before"
expect_found alone independence "a token has other bits" tokens_alone_have_the_bits_of_many \
  tokens_alone_have_the_bits_of_thousands tokens_alone_have_the_bits_of_many_with_sinks_and_an_extra_scope \
  tokens_alone_have_the_bits_of_many_of_all_heads_in_a_group tokens_alone_have_the_bits_of_many_with_own_v \
  tokens_alone_have_the_bits_of_many_of_a_long_bf16_window tokens_alone_have_the_bits_of_many_in_splits
