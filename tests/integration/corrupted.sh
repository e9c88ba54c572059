#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An entry that is damaged in any way is set aside, rebuilt, and a hit afterwards.
. "$(dirname "$0")/common.sh"

export SWA_JIT_NVRTC="$NVRTC_FAKE"
ask "$work/warm" --cache-dir "$work/store"
entry=$(find_entry "$work/store")
cp "$entry" "$work/good"
size=$(wc -c <"$entry")

# damage KIND: the entry, damaged in that way.
damage() {
  case $1 in
  empty) : >"$entry" ;;
  half) head -c "$((size / 2))" "$work/good" >"$entry" ;;
  short) head -c "$((size - 1))" "$work/good" >"$entry" ;;
  long) { cat "$work/good" && echo; } >"$entry" ;;
  text) echo "no entry" >"$entry" ;;
  cubin) printf x | dd of="$entry" bs=1 seek=70 conv=notrunc 2>/dev/null ;;
  key) printf '~' | dd of="$entry" bs=1 seek=230 conv=notrunc 2>/dev/null ;;
  trailer) printf x | dd of="$entry" bs=1 seek="$((size - 5))" conv=notrunc 2>/dev/null ;;
  link) ln -sf "$work/good" "$entry" ;;
  esac
}

num_set_aside=0
for kind in empty half short long text cubin key trailer link; do
  rm -f "$entry"
  cp "$work/good" "$entry"
  damage "$kind"
  ask "$work/$kind" --cache-dir "$work/store"
  expect "$work/$kind" status=SWA_JIT_OK origin=compiled set_aside=1 writes=1 message=
  expect_part "$work/$kind.log" 'log 2 '
  num_set_aside=$((num_set_aside + 1))
  [ "$(find "$work/store" -name '*.bad-*' | wc -l)" = "$num_set_aside" ] || fail "$kind: nothing was set aside"
  cmp -s "$entry" "$work/good" || [ -f "$entry" ] || fail "$kind: no entry afterwards"
  ask "$work/$kind.again" --cache-dir "$work/store"
  expect "$work/$kind.again" origin=store set_aside=0
done

# Where nothing may be written, the damaged entry stays and the kernel comes all the same.
damage half
SWA_JIT_READ_ONLY=1 ask "$work/read_only" --cache-dir "$work/store"
expect "$work/read_only" status=SWA_JIT_OK origin=compiled set_aside=0 writes=0
[ -f "$entry" ] || fail "a read-only process removed the entry"
