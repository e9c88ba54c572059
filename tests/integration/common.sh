# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced by the tests of this folder. From meson.build: ASK (the program ask), NVRTC_FAKE and CUDA_RECORDING (the
# stand-ins).
set -eu

unset SWA_JIT_CACHE_DIR SWA_JIT_NVRTC SWA_JIT_CUDA SWA_JIT_DUMP_DIR SWA_JIT_RECORD SWA_JIT_NO_COMPILE SWA_JIT_READ_ONLY
unset SWA_JIT_CACHE_PATH SWA_JIT_CACHE_LIMIT SWA_JIT_FOREIGN_OWNER SWA_JIT_GROUP_SHARED SWA_JIT_KEEP_PTX
unset SWA_JIT_USE_PTX
unset XDG_CACHE_HOME VIRTUAL_ENV FAKE_NVRTC_VERSION FAKE_NVRTC_MS FAKE_NVRTC_RESULT FAKE_NVRTC_COUNT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work/home"
mkdir "$HOME"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect FILE LINE...: each line stands in FILE as it is.
expect() {
  file=$1
  shift
  for line in "$@"; do
    if ! grep -qxF -- "$line" "$file"; then
      cat "$file" "$file.log" >&2
      fail "$(basename "$0"): no line \"$line\" in the answer above"
    fi
  done
}

# expect_part FILE TEXT...: each text stands somewhere in FILE.
expect_part() {
  file=$1
  shift
  for text in "$@"; do
    if ! grep -qF -- "$text" "$file"; then
      cat "$file" >&2
      fail "$(basename "$0"): no \"$text\" in the lines above"
    fi
  done
}

# ask ANSWER ARGUMENT...: the answer goes to ANSWER, the log to ANSWER.log.
ask() {
  answer=$1
  shift
  "$ASK" "$@" >"$answer" 2>"$answer.log"
}

# The number of compiles that the stand-in counted.
num_compiles() {
  if [ -e "$FAKE_NVRTC_COUNT" ]; then
    wc -c <"$FAKE_NVRTC_COUNT" | tr -d ' '
  else
    echo 0
  fi
}

# find_entry FOLDER: the path of its only entry.
find_entry() {
  find "$1" -name '*.cubin' -type f
}
