#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PTX kept beside the cubin, by real processes on the emulator's driver, which takes no cubin: it is loaded and launched
# where the driver refuses every cubin, and on a device that is newer than every architecture here. No entry is lost.
. "$(dirname "$0")/common.sh"

if ! swa_nvrtc=$("$WARM" --cache-dir "$work/probe" --arch sm_80 2>&1); then
  echo "$swa_nvrtc" | grep -q SWA_JIT_NO_COMPILER || fail "$swa_nvrtc"
  echo "skipped: there is no NVRTC, and the stand-in's PTX is no kernel"
  exit 77
fi
export SWA_JIT_CUDA="$CUDA_EMULATOR"
store=$work/store

# step NAME ARGUMENT...: one checked decode step of swa-jit-run with the store; its report goes to $work/NAME.
step() {
  name=$1
  shift
  SWA_JIT_CACHE_DIR="$store" "$RUN" --num-tokens 1 --num-heads 16 --head-group 16 --kv-tile 16 --repeat 1 "$@" \
    >"$work/$name" 2>"$work/$name.log"
}

# names ENDING: the store's files of that ending, with their times and sizes.
names() {
  find "$store" -name "*$1" -printf '%f %s %T@\n' | sort
}

# Cubins alone: the driver refuses them, and nothing else is there.
SWA_JIT_NO_COMPILE=0 "$WARM" --quiet --cache-dir "$store" --arch sm_80,sm_90a
cubins=$(names .cubin)
if SWA_JIT_NO_COMPILE=1 step refused --arch sm_90a; then
  fail "the emulator took a cubin: this test shows nothing"
fi
expect_part "$work/refused.log" 'refused the image'
[ "$(names .cubin)" = "$cubins" ] || fail "a refused cubin is gone or changed"

# With PTX beside them, without a compiler.
"$WARM" --quiet --cache-dir "$store" --arch sm_80,sm_90a --keep-ptx
[ "$(names .ptx | wc -l)" = 2 ] || fail "not two PTX entries: $(names .ptx)"
[ "$(names .cubin)" = "$cubins" ] || fail "the cubins were made again for their PTX"
export SWA_JIT_NO_COMPILE=1
step beside --arch sm_90a || fail "$(cat "$work/beside.log")"
expect_part "$work/beside" 'pass'
[ "$(names .cubin)" = "$cubins" ] || fail "a cubin that the driver refuses is gone or changed"
[ -z "$(names '.bad-*')" ] || fail "something was set aside"

# A device newer than every cubin runs the PTX of sm_80; where there is none, the message says what to do.
export SWA_JIT_EMULATOR_DEVICE=sm_190
SWA_JIT_KEEP_PTX=1 step newer --arch native || fail "$(cat "$work/newer.log")"
expect_part "$work/newer" 'pass' 'sm_80'
rm "$store"/*-sm_80-*.ptx
if SWA_JIT_KEEP_PTX=1 step newer_without --arch native; then
  fail "a device without PTX or a cubin made a step"
fi
expect_part "$work/newer_without.log" 'its PTX is asked for, and none is kept'
[ "$(names .cubin)" = "$cubins" ] || fail "a cubin of an older device is gone or changed"

# A driver that takes no cubin, with a compiler: not one compile more at each start.
unset SWA_JIT_NO_COMPILE SWA_JIT_EMULATOR_DEVICE
for start in first second third; do
  SWA_JIT_KEEP_PTX=1 step "$start" --arch sm_90a || fail "$(cat "$work/$start.log")"
  [ "$start" = first ] || [ "$(names .cubin)" = "$before" ] || fail "a start wrote cubins: $(names .cubin)"
  before=$(names .cubin)
done
