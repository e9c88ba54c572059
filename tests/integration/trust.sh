#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may have written what a process loads: modes whatever the umask, owners, groups, and links that lead elsewhere.
. "$(dirname "$0")/common.sh"

export SWA_JIT_NVRTC="$NVRTC_FAKE"
entry_name=
is_root=$([ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$ASK" 2>/dev/null \
  && echo yes || echo no)

# modes FOLDER: of it and what it holds, each once.
modes() {
  find "$1" -printf '%y%m\n' | sort -u | tr '\n' ' '
}

# ---- Any umask

for mask in 000 022 077; do
  (umask "$mask" && ask "$work/mask" --cache-dir "$work/mask$mask/parent/store")
  expect "$work/mask" status=SWA_JIT_OK writes=1 message=
  [ "$(modes "$work/mask$mask")" = 'd700 f600 f644 ' ] || fail "umask $mask: $(modes "$work/mask$mask")"
  (umask "$mask" && ask "$work/mask_again" --cache-dir "$work/mask$mask/parent/store")
  expect "$work/mask_again" origin=store
done

# ---- Links

ln -s "$work/mask077/parent/store" "$work/link"
ask "$work/linked" --cache-dir "$work/link"
expect "$work/linked" open=SWA_JIT_STORE_ERROR
expect_part "$work/linked" 'symbolic link' "$work/link"
SWA_JIT_CACHE_PATH="$work/link" ask "$work/linked_layer" --cache-dir "$work/empty"
expect "$work/linked_layer" origin=compiled layer_hits=0
expect_part "$work/linked_layer.log" "$work/link"
ln -s "$work/mask077" "$work/linked_parent"
ask "$work/below_link" --cache-dir "$work/linked_parent/parent/store"
expect "$work/below_link" origin=store

# Every name that the library writes to or opens leads to a file outside, or to what hangs whoever opens it.
entry_name=$(basename "$(find_entry "$work/mask077")")
digest=$(echo "$entry_name" | sed 's/.*-\([0-9a-f]*\)\.cubin/\1/')
for kind in symbolic hard pipe folder; do
  for name in "$entry_name" "${entry_name%.cubin}.failed" "$digest.lock" .writers trim.lock; do
    store="$work/store"
    mkdir -m 700 "$store"
    echo precious >"$work/precious"
    before=$(stat -c '%a %u %Y %s' "$work/precious")
    case $kind in
    symbolic) ln -s "$work/precious" "$store/$name" ;;
    hard) ln "$work/precious" "$store/$name" ;;
    pipe) mkfifo "$store/$name" ;;
    folder) mkdir "$store/$name" && : >"$store/$name/something" ;;
    esac
    SWA_JIT_CACHE_LIMIT=1 SWA_JIT_KEEP_PTX=1 timeout 60 "$ASK" --cache-dir "$store" >"$work/trick" 2>"$work/trick.log" \
      || fail "$kind $name: the process did not end"
    expect "$work/trick" status=SWA_JIT_OK origin=compiled message=
    SWA_JIT_CACHE_LIMIT=1 FAKE_NVRTC_RESULT=6 timeout 60 "$ASK" --cache-dir "$store" \
      --config 'arch=sm_90a window_size=64' >"$work/trick" 2>"$work/trick.log" || fail "$kind $name: no end"
    expect "$work/trick" status=SWA_JIT_COMPILE_FAILED
    [ "$(cat "$work/precious")" = precious ] || fail "$kind $name: a file outside was written to"
    [ "$(stat -c '%a %u %Y %s' "$work/precious")" = "$before" ] || fail "$kind $name: a file outside was changed"
    rm -rf "$store"
  done
done

# ---- The limit of file sizes ends nobody, whatever is being written

mkdir "$work/dumps"
# shellcheck disable=SC2016 # expanded by the inner shell
SWA_JIT_RECORD="$work/record" SWA_JIT_DUMP_DIR="$work/dumps" SWA_JIT_CACHE_DIR="$work/limited" FAKE_NVRTC_RESULT=6 \
  sh -c 'ulimit -f 0 && exec "$1" 2>/dev/null' sh "$ASK" | cat >"$work/limit"
: >"$work/limit.log"
expect "$work/limit" status=SWA_JIT_COMPILE_FAILED
expect_part "$work/limit" message=

if [ "$is_root" = no ]; then
  echo "not tried: other users and groups (needs root, setpriv and a reachable build folder)"
  exit 0
fi

# ---- Folders and entries of other users

chmod 0755 "$work"
mkdir -m 755 "$work/foreign"
chown 12345:12345 "$work/foreign"
ask "$work/foreign_named" --cache-dir "$work/foreign"
expect "$work/foreign_named" open=SWA_JIT_STORE_ERROR
expect_part "$work/foreign_named" 'user 12345' SWA_JIT_FOREIGN_OWNER=1
SWA_JIT_CACHE_DIR="$work/foreign" ask "$work/foreign_default"
expect "$work/foreign_default" open=SWA_JIT_OK status=SWA_JIT_OK store_status=SWA_JIT_STORE_ERROR
expect_part "$work/foreign_default.log" SWA_JIT_FOREIGN_OWNER=1
[ -z "$(ls -A "$work/foreign")" ] || fail "something was written to a folder that is not trusted"
export SWA_JIT_FOREIGN_OWNER=1
ask "$work/foreign_allowed" --cache-dir "$work/foreign"
expect "$work/foreign_allowed" status=SWA_JIT_OK writes=1
chown 12345 "$work/foreign/$entry_name" # the owner of the folder is trusted then
ask "$work/foreign_hit" --cache-dir "$work/foreign"
expect "$work/foreign_hit" origin=store
chown 23456 "$work/foreign/$entry_name" # a third user is not
ask "$work/third" --cache-dir "$work/foreign"
expect "$work/third" origin=compiled set_aside=1
# What root makes there is the owner's, who can lock it, mark its use and remove it; also what an older release left.
owner() {
  answer=$1
  shift
  (umask 077 && setpriv --reuid=12345 --regid=12345 --clear-groups "$ASK" --cache-dir "$work/foreign" "$@" \
    >"$answer" 2>"$answer.log")
}
rm -f "$work/foreign"/* "$work/foreign"/.[!.]*
(umask 077 && ask "$work/roots" --cache-dir "$work/foreign")
FAKE_NVRTC_RESULT=6 ask "$work/roots_failure" --cache-dir "$work/foreign" --config 'arch=sm_90a window_size=32'
[ -z "$(find "$work/foreign" -not -user 12345)" ] || fail "root keeps $(find "$work/foreign" -not -user 12345)"
touch -d '1 day ago' "$work/foreign/$entry_name"
owner "$work/owners_hit"
expect "$work/owners_hit" origin=store lock_failures=0
[ -z "$(find "$work/foreign" -name "$entry_name" -mmin +60)" ] || fail "the owner's hit did not mark the use"
rm "$work/foreign/$entry_name"
owner "$work/owners"
expect "$work/owners" origin=compiled writes=1 lock_failures=0
rm "$work/foreign/$entry_name"
chown 0 "$work/foreign/$digest.lock"
ask "$work/roots_again" --cache-dir "$work/foreign"
[ "$(stat -c %u "$work/foreign/$digest.lock")" = 12345 ] || fail "a lock of root's stays root's"
unset SWA_JIT_FOREIGN_OWNER

# ---- A store that a group shares, whether or not its folder passes the group on

# member USER ANSWER ARGUMENT...: asks as that user of the group 4321, whose umask lets nobody else in.
member() {
  user=$1
  answer=$2
  shift 2
  (umask 077 && setpriv --reuid="$user" --regid="$user" --groups=4321 "$ASK" --cache-dir "$work/shared" "$@" \
    >"$answer" 2>"$answer.log")
}
for mode in 2770 0770; do
  install -d -m "$mode" -g 4321 "$work/shared"
  member 2001 "$work/without"
  expect "$work/without" open=SWA_JIT_STORE_ERROR
  expect_part "$work/without" SWA_JIT_GROUP_SHARED=1
  export SWA_JIT_GROUP_SHARED=1
  member 2001 "$work/first"
  expect "$work/first" status=SWA_JIT_OK writes=1 lock_failures=0
  member 2002 "$work/second"
  expect "$work/second" origin=store set_aside=0
  rm "$work/shared/$entry_name"
  member 2002 "$work/third" # with the lock file that the first one made
  expect "$work/third" origin=compiled writes=1 lock_failures=0
  SWA_JIT_CACHE_LIMIT=1 member 2001 "$work/fourth" --config 'arch=sm_90a window_size=64'
  expect "$work/fourth" writes=1 evictions=1
  FAKE_NVRTC_RESULT=6 member 2001 "$work/failing" --config 'arch=sm_90a window_size=32'
  member 2002 "$work/failing" --config 'arch=sm_90a window_size=32'
  expect "$work/failing" status=SWA_JIT_COMPILE_FAILED failures_remembered=1
  # Who is not in the group may not even look; root, who is in no group of it, may.
  setpriv --reuid=2003 --regid=2003 --clear-groups "$ASK" --cache-dir "$work/shared" >"$work/stranger" \
    2>"$work/stranger.log"
  expect "$work/stranger" open=SWA_JIT_STORE_ERROR
  ask "$work/root" --cache-dir "$work/shared" --config 'arch=sm_90a window_size=64'
  expect "$work/root" origin=store
  unset SWA_JIT_GROUP_SHARED
  rm -rf "$work/shared"
done
