#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Meson project that has swa-jit as a subproject finds it by its name, builds it without its tests, and links to it,
# shared and static. From meson.build: SOURCE_ROOT.
. "$(dirname "$0")/common.sh"
unset LD_LIBRARY_PATH # the outer build's library must not stand in for the subproject's

mkdir -p "$work/outer/subprojects"
ln -s "$SOURCE_ROOT" "$work/outer/subprojects/swa-jit"
cp "$(dirname "$0")/user.c" "$work/outer/user.c"
cat >"$work/outer/meson.build" <<'END'
project('outer', 'c', default_options : ['c_std=c11', 'buildtype=plain'])
swa_jit_dep = dependency('swa-jit', fallback : 'swa-jit', default_options : ['tools=false'])
executable('user', 'user.c', dependencies : swa_jit_dep)
END
for kind in shared static; do
  meson setup --wrap-mode=forcefallback -Ddefault_library=$kind "$work/$kind" "$work/outer" >"$work/setup.txt" 2>&1 \
    || { cat "$work/setup.txt"; fail "$kind: setup"; }
  ninja -C "$work/$kind" user >"$work/build.txt" 2>&1 || { cat "$work/build.txt"; fail "$kind: build"; }
  ! grep -q warning "$work/build.txt" || { cat "$work/build.txt"; fail "$kind: warnings"; }
  "$work/$kind/user" >"$work/answer" || fail "$kind: the program"
  expect_part "$work/answer" 'bytes of source'
done
[ ! -d "$work/shared/subprojects/swa-jit/tests/unit" ] || fail "the subproject builds its tests"
