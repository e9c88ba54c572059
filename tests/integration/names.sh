#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The store's folder by any name: blanks, quotes, non-ASCII, thousands of characters, relative with a chdir later; and
# where it is when nobody names it.
. "$(dirname "$0")/common.sh"

export SWA_JIT_NVRTC="$NVRTC_FAKE"

# works NAME: a folder of that name, below $work, is filled by one process and found by the next, by the option, by the
# variable and as a layer; nothing lies beside it.
works() {
  folder="$work/names/$1"
  ask "$work/first" --cache-dir "$folder"
  expect "$work/first" status=SWA_JIT_OK origin=compiled writes=1 message=
  SWA_JIT_CACHE_DIR="$folder" ask "$work/second"
  expect "$work/second" status=SWA_JIT_OK origin=store
  SWA_JIT_CACHE_PATH="$folder" ask "$work/third" --cache-dir "$work/empty"
  expect "$work/third" status=SWA_JIT_OK origin=store layer_hits=1
  [ "$(find "$work/names" -name '*.cubin' -printf x)" = x ] || fail "not one entry below $1"
  # The command that makes a missing entry names this very folder.
  SWA_JIT_NO_COMPILE=1 ask "$work/missing" --cache-dir "$folder" --config 'arch=sm_90a window_size=64'
  expect "$work/missing" status=SWA_JIT_NO_COMPILER
  named=$(sed -n '/^message=/,$p' "$work/missing" | sed -n '/--cache-dir /,$p' | sed '1s/.*--cache-dir //')
  eval "set -- \"\$1\" $named"
  [ "$2" = "$folder" ] || fail "the command names $2, not $folder"
  rm -rf "$work/names"
}

works 'with blanks  and	tab'
works "it's \"quoted\" \`twice\` \$HOME \\ !"
works '-rf * ? [a] ~ # ; & | < > ( ) { } %s %n'
works 'dossier été/日本語/папка'
works "$(printf 'not \377 UTF-8 \303')"
works "$(printf 'two\nlines')"
hundred=$(printf '%0100d' 0)
works "$hundred$hundred$(printf '%055d' 0)" # the longest name that there is
works "a//b/./c"

# A name that cannot be.
ask "$work/long_name" --cache-dir "$work/$hundred$hundred$hundred"
expect "$work/long_name" open=SWA_JIT_STORE_ERROR
expect_part "$work/long_name" 'File name too long'

# 4,000 characters and more: the whole is longer than one system call may be given.
long=$work
while [ "${#long}" -lt 4300 ]; do
  long="$long/$hundred"
done
ask "$work/long" --cache-dir "$long"
expect "$work/long" status=SWA_JIT_OK origin=compiled writes=1 message=
ask "$work/long_again" --cache-dir "$long"
expect "$work/long_again" status=SWA_JIT_OK origin=store
SWA_JIT_CACHE_PATH="$long" ask "$work/long_layer" --cache-dir "$work/empty"
expect "$work/long_layer" status=SWA_JIT_OK origin=store layer_hits=1
# What stands behind the path is not cut off the message, and no command names half of it.
ask "$work/long_wrong" --cache-dir "$long/$hundred$hundred$hundred"
expect "$work/long_wrong" open=SWA_JIT_STORE_ERROR
expect_part "$work/long_wrong" 'File name too long'
SWA_JIT_NO_COMPILE=1 ask "$work/long_missing" --cache-dir "$long" --config 'arch=sm_90a window_size=64'
expect_part "$work/long_missing" window_size=64 'too long to stand here'

# Relative, and the program goes elsewhere: the folder stays where it was, also when it has to be made again.
mkdir "$work/start" "$work/elsewhere"
(cd "$work/start" && ask "$work/relative" --cache-dir "some/store" --chdir "$work/elsewhere")
expect "$work/relative" status=SWA_JIT_OK writes=1
[ -n "$(find_entry "$work/start/some/store")" ] || fail "no entry where the program began"
(cd "$work/start" && SWA_JIT_CACHE_PATH=some/store ask "$work/relative_layer" --chdir "$work/elsewhere")
expect "$work/relative_layer" origin=store layer_hits=1
(cd "$work/start" && SWA_JIT_NO_COMPILE=1 ask "$work/relative_missing" --cache-dir some/store \
  --chdir "$work/elsewhere" --config 'arch=sm_90a window_size=64')
expect_part "$work/relative_missing" "--cache-dir '$work/start/some/store'"
# So do the record, the dumps and the compiler's path.
ln -s "$NVRTC_FAKE" "$work/start/libnvrtc.so"
mkdir "$work/start/dumps"
(cd "$work/start" && SWA_JIT_NVRTC=./libnvrtc.so SWA_JIT_RECORD=asked SWA_JIT_DUMP_DIR=dumps \
  ask "$work/relative_files" --cache-dir "$work/store_of_files" --chdir "$work/elsewhere")
expect "$work/relative_files" status=SWA_JIT_OK origin=compiled message=
expect_part "$work/start/asked" 'arch=sm_90a'
[ "$(find "$work/start/dumps" -name '*.cu' | wc -l)" = 1 ] || fail "no dump where the program began"
[ -z "$(ls -A "$work/elsewhere")" ] || fail "something was made where the program went"

# Where the folder is when nobody names it.
cd "$work/elsewhere"
rm -rf "$HOME"
mkdir "$HOME"
XDG_CACHE_HOME="$work/xdg" ask "$work/xdg_absolute"
expect "$work/xdg_absolute" writes=1
[ -n "$(find_entry "$work/xdg/swa-jit")" ] || fail "nothing in XDG_CACHE_HOME"
XDG_CACHE_HOME=relative/xdg ask "$work/xdg_relative"
expect "$work/xdg_relative" writes=1
[ -n "$(find_entry "$HOME/.cache/swa-jit")" ] || fail "a relative XDG_CACHE_HOME is not passed over for HOME"

# memory_only ANSWER: the kernel came, nothing was kept, one warning says what to set.
memory_only() {
  expect "$1" open=SWA_JIT_OK status=SWA_JIT_OK origin=compiled writes=0 message=
  [ "$(grep -c '^log 2 ' "$1.log")" -ge 1 ] || fail "no warning"
  expect_part "$1.log" SWA_JIT_CACHE_DIR
}
for home in '' relative '~' /nonexistent "$work/file/home"; do
  : >"$work/file"
  HOME=$home ask "$work/no_home"
  memory_only "$work/no_home"
done
(unset HOME && ask "$work/unset_home")
memory_only "$work/unset_home"
[ ! -e /nonexistent ] || fail "/nonexistent was made"
[ -z "$(ls -A "$work/elsewhere")" ] || fail "something was made in the working folder"
