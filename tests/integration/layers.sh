#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Read-only layers: what swa-jit-warm builds serves any user from any place, without a compiler, and is never written
# to. From meson.build: WARM.
. "$(dirname "$0")/common.sh"

build_layer() {
  (umask 077 && SWA_JIT_NVRTC=$NVRTC_FAKE "$WARM" --quiet --arch sm_90a --window-size "$2" --cache-dir "$1")
}

# The digest of every file of a folder, and its times.
state_of() {
  find "$1" -printf '%P %m %s %T@ %C@\n' | sort
}

build_layer "$work/image layer" 128
build_layer "$work/pack" 256
mv "$work/image layer" "$work/mounted elsewhere"
before=$(state_of "$work/mounted elsewhere")

export SWA_JIT_CACHE_PATH="$work/mounted elsewhere:$work/pack"
SWA_JIT_NVRTC=/nonexistent/libnvrtc.so ask "$work/first" --cache-dir "$work/store"
expect "$work/first" status=SWA_JIT_OK origin=store compiles=0 layer_hits=1 writes=0
SWA_JIT_NVRTC=/nonexistent/libnvrtc.so ask "$work/second" --cache-dir "$work/store" \
  --config 'arch=sm_90a window_size=256'
expect "$work/second" status=SWA_JIT_OK origin=store layer_hits=1
[ -z "$(find_entry "$work/store")" ] || fail "a hit in a layer was copied"

# Another user, with no place of its own at all.
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$ASK" 2>/dev/null; then
  chmod 0755 "$work"
  HOME=/nonexistent SWA_JIT_NO_COMPILE=1 setpriv --reuid=65534 --regid=65534 --clear-groups "$ASK" \
    >"$work/other_user" 2>"$work/other_user.log"
  expect "$work/other_user" open=SWA_JIT_OK status=SWA_JIT_OK origin=store layer_hits=1
else
  echo "not tried: another user (needs root, setpriv and a reachable build folder)"
fi

# A read-only mount.
# shellcheck disable=SC2016 # expanded by the inner shell
bind='mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"'
if [ "$(id -u)" = 0 ] && unshare --mount sh -c "$bind" sh "$work/mounted elsewhere" 2>/dev/null; then
  # shellcheck disable=SC2016
  unshare --mount sh -c "$bind"' && "$2" --cache-dir "$3"' sh "$work/mounted elsewhere" "$ASK" "$work/store" \
    >"$work/mounted" 2>"$work/mounted.log"
  expect "$work/mounted" status=SWA_JIT_OK origin=store layer_hits=1
else
  echo "not tried by a user who may not mount: a read-only mount"
fi
[ "$(state_of "$work/mounted elsewhere")" = "$before" ] || fail "a read-only layer was changed"

# A broken entry is passed over, told, counted, and rebuilt into the folder that is written.
layer_entry=$(find_entry "$work/mounted elsewhere")
printf x | dd of="$layer_entry" bs=1 seek=70 conv=notrunc 2>/dev/null
broken=$(state_of "$work/mounted elsewhere")
SWA_JIT_NVRTC=$NVRTC_FAKE ask "$work/broken" --cache-dir "$work/store"
expect "$work/broken" status=SWA_JIT_OK origin=compiled layer_skips=1 set_aside=0 writes=1 message=
[ "$(grep -c '^log 2 ' "$work/broken.log")" = 1 ] || fail "the broken entry was not told exactly once"
ask "$work/rebuilt" --cache-dir "$work/store"
expect "$work/rebuilt" origin=store layer_hits=0
[ "$(state_of "$work/mounted elsewhere")" = "$broken" ] || fail "the broken entry was touched"

# What is missing is told with the command that makes it, and that command does.
export SWA_JIT_NVRTC="$NVRTC_FAKE"
config='arch=sm_90a window_size=512 splits=1'
SWA_JIT_NO_COMPILE=1 ask "$work/missing" --cache-dir "$work/my 'own' store" --config "$config"
expect "$work/missing" status=SWA_JIT_NO_COMPILER
expect_part "$work/missing" 'window_size=512' 'splits=1' 'window_size 128 -> 512'
command=$(sed -n 's/^message=.*Make it with: //p' "$work/missing")
[ -n "$command" ] || fail "no command in the message"
(PATH="$(dirname "$WARM"):$PATH" && eval "$command" >"$work/command.txt" 2>&1) || fail "the command: $command"
SWA_JIT_NO_COMPILE=1 ask "$work/made" --cache-dir "$work/my 'own' store" --config "$config"
expect "$work/made" status=SWA_JIT_OK origin=store layer_hits=0
