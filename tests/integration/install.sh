#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs into a folder and builds programs outside the project against what is there: C and C++ by pkg-config, C with
# the static library. From meson.build: BUILD_ROOT, CC, CXX (empty without a C++ compiler), SANITIZE.
. "$(dirname "$0")/common.sh"
here=$(dirname "$0")
if [ "$SANITIZE" != none ]; then
  echo "skipped: programs outside the project cannot link what was built with -Db_sanitize=$SANITIZE"
  exit 77
fi

DESTDIR="$work/dest" meson install -C "$BUILD_ROOT" --no-rebuild --quiet
pc=$(find "$work/dest" -name swa-jit.pc)
[ -n "$pc" ] || fail "no swa-jit.pc was installed"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR="$work/dest"
libdir=$(dirname "$(dirname "$pc")")
export LD_LIBRARY_PATH="$libdir"

version=$(pkg-config --modversion swa-jit)
[ -e "$libdir/libswajit.so.$version" ] || fail "no libswajit.so.$version in $libdir"
major=$(sed -n 's/^#define SWA_JIT_ABI_MAJOR //p' "$(find "$work/dest" -name version.h)")
readelf -d "$libdir/libswajit.so" | grep -qF "[libswajit.so.$major]" || fail "the soname is not libswajit.so.$major"
! readelf -d "$libdir/libswajit.so" | grep NEEDED | grep -qE 'cuda|nvrtc|stdc' || fail "it needs a library it must not"

# shellcheck disable=SC2046,SC2086 # lists of flags
$CC -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/user.c" $(pkg-config --cflags --libs swa-jit) -o "$work/user"
"$work/user" >"$work/answer" || fail "the C program"
expect_part "$work/answer" 'bytes of source'
readelf -d "$work/user" | grep -qF "[libswajit.so.$major]" || fail "the program does not need the soname"

# shellcheck disable=SC2046,SC2086
$CC -std=c11 -DSWA_JIT_STATIC "$here/user.c" $(pkg-config --cflags swa-jit) "$libdir/libswajit.a" \
  $(pkg-config --static --libs-only-l swa-jit | sed 's/-lswajit//') -o "$work/static_user"
"$work/static_user" >"$work/answer" || fail "the statically linked program"
! readelf -d "$work/static_user" | grep -qF libswajit || fail "the static program needs the shared library"

if [ -n "$CXX" ]; then
  # shellcheck disable=SC2046,SC2086
  $CXX -std=c++11 -Wall -Wextra -Wpedantic -Werror "$here/user.cc" $(pkg-config --cflags --libs swa-jit) \
    -o "$work/cxx_user"
  "$work/cxx_user" 2>/dev/null || fail "the C++ program"
else
  echo "not tried without a C++ compiler: the C++ program"
fi
