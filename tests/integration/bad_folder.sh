#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A store that cannot be used costs a compile, never the kernel; only a folder named in the call itself is an error.
. "$(dirname "$0")/common.sh"

export SWA_JIT_NVRTC="$NVRTC_FAKE"

# used_all_the_same ANSWER: the kernel came, its loss was told once, and the message stayed empty.
used_all_the_same() {
  expect "$1" open=SWA_JIT_OK status=SWA_JIT_OK origin=compiled store_status=SWA_JIT_STORE_ERROR compiles=1 writes=0 \
    write_failures=1 message=
  expect_part "$1.log" 'log 2 '
}

# A file.
echo text >"$work/file"
ask "$work/named_file" --cache-dir "$work/file"
expect "$work/named_file" open=SWA_JIT_STORE_ERROR
expect_part "$work/named_file" "$work/file"
SWA_JIT_CACHE_DIR="$work/file" ask "$work/default_file"
used_all_the_same "$work/default_file"
[ "$(cat "$work/file")" = text ] || fail "the file was changed"

# Below a file: cannot be created.
SWA_JIT_CACHE_DIR="$work/file/below" ask "$work/below"
used_all_the_same "$work/below"

# Writable by everybody.
mkdir "$work/open"
chmod 0777 "$work/open"
ask "$work/open_named" --cache-dir "$work/open"
expect "$work/open_named" open=SWA_JIT_STORE_ERROR
SWA_JIT_CACHE_DIR="$work/open" ask "$work/open_default"
used_all_the_same "$work/open_default"
[ -z "$(ls -A "$work/open")" ] || fail "something was written to a folder that is not trusted"

# A folder where this user may not write. Root may write everywhere, so that it asks as somebody else.
mkdir "$work/locked"
if [ "$(id -u)" != 0 ]; then
  chmod 0500 "$work/locked"
  ask "$work/locked_answer" --cache-dir "$work/locked"
  used_all_the_same "$work/locked_answer"
elif setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$ASK" 2>/dev/null; then
  chmod 0755 "$work" "$work/locked"
  setpriv --reuid=65534 --regid=65534 --clear-groups "$ASK" --cache-dir "$work/locked" >"$work/locked_answer" \
    2>"$work/locked_answer.log"
  used_all_the_same "$work/locked_answer"
else
  echo "not tried as root without setpriv: a folder without write permission"
fi

# No room: files may not grow, and, where this user may mount, a full disk.
# shellcheck disable=SC2016 # expanded by the inner shell
SWA_JIT_CACHE_DIR="$work/limited" sh -c 'ulimit -f 0 && exec "$1" 2>/dev/null' sh "$ASK" | cat >"$work/limit"
: >"$work/limit.log"
expect "$work/limit" status=SWA_JIT_OK origin=compiled store_status=SWA_JIT_STORE_ERROR write_failures=1
[ -z "$(find_entry "$work/limited")" ] || fail "an entry was written beyond the limit"
mkdir "$work/full"
# shellcheck disable=SC2016 # expanded by the inner shell
fill='mount -t tmpfs -o size=16k,mode=0700 swa-jit-test "$1" && { cat /dev/zero >"$1/filler" 2>/dev/null; true; }'
if [ "$(id -u)" = 0 ] && unshare --mount sh -c "$fill" sh "$work/full" 2>/dev/null; then
  # shellcheck disable=SC2016
  unshare --mount sh -c "$fill"' && "$2" --cache-dir "$1"' sh "$work/full" "$ASK" >"$work/full_answer" \
    2>"$work/full_answer.log"
  used_all_the_same "$work/full_answer"
  expect_part "$work/full_answer.log" 'No space left'
else
  echo "not tried by a user who may not mount: a full disk (unit tests have it)"
fi
