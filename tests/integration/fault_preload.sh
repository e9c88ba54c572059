#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fault-preload.so knows every call of the library that reaches files: one that it does not know would never be made to
# fail. From meson.build: LIBSWAJIT, FAULT_PRELOAD.
set -eu

# names FILE KIND: the symbols that it needs (--undefined-only) or gives (--defined-only), without their versions.
names() {
  nm -D "$2" "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u
}

given=$(names "$FAULT_PRELOAD" --defined-only)
num_calls=0
for name in $(names "$LIBSWAJIT" --undefined-only); do
  case $name in
  *open* | creat* | *close* | *read* | *write* | *sync* | *fallocate* | *truncate* | *rename* | \
    *link* | *mkdir* | rmdir | *stat* | *utime* | *chmod* | *chown* | flock | lockf* | fcntl* | \
    mmap* | *sendfile* | copy_file_range | *getdents* | getrandom | *xattr*) ;;
  *) continue ;;
  esac
  case $name in
  dlopen | dlclose | pthread_*) continue ;; # no file of the store
  esac
  num_calls=$((num_calls + 1))
  if ! printf '%s\n' "$given" | grep -qx "$name"; then
    echo "FAILED: libswajit calls $name, which tests/support/fault_preload.c does not know" >&2
    exit 1
  fi
done
[ "$num_calls" -gt 5 ] || {
  echo "FAILED: only $num_calls calls found in $LIBSWAJIT" >&2
  exit 1
}
