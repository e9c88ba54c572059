#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One process fills the store; another one, without a compiler, finds what it needs there, wherever the folder lies by
# then.
. "$(dirname "$0")/common.sh"

SWA_JIT_NVRTC=$NVRTC_FAKE ask "$work/first" --cache-dir "$work/store"
expect "$work/first" open=SWA_JIT_OK status=SWA_JIT_OK origin=compiled store_status=SWA_JIT_OK compiles=1 writes=1 \
  message=

export SWA_JIT_NVRTC=/nonexistent/libnvrtc.so
ask "$work/second" --cache-dir "$work/store"
expect "$work/second" status=SWA_JIT_OK origin=store compiles=0 hits=1 writes=0 miss_reason= message=

cp -R "$work/store" "$work/moved"
mkdir "$work/other home"
HOME="$work/other home" PATH="/nowhere:$PATH" SWA_JIT_CACHE_DIR="$work/moved" SWA_JIT_READ_ONLY=1 ask "$work/third"
expect "$work/third" status=SWA_JIT_OK origin=store hits=1

SWA_JIT_CUDA=$CUDA_RECORDING ask "$work/fourth" --cache-dir "$work/store" --kernel
expect "$work/fourth" status=SWA_JIT_OK origin=store compiles=0

ask "$work/other" --cache-dir "$work/store" --config 'arch=sm_90a window_size=256'
expect "$work/other" status=SWA_JIT_NO_COMPILER compiles=0
expect_part "$work/other" window_size /nonexistent/libnvrtc.so

# With nothing set at all, the store is HOME's.
SWA_JIT_NVRTC=$NVRTC_FAKE ask "$work/home_first"
expect "$work/home_first" origin=compiled writes=1
ask "$work/home_second"
expect "$work/home_second" origin=store
[ -n "$(find_entry "$HOME/.cache/swa-jit")" ] || fail "no entry below HOME"
[ "$(stat -c %a "$HOME/.cache/swa-jit")" = 700 ] || fail "the store's folder is not 0700"
