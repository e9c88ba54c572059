#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recipes of docs/cache.md, each as it stands there but for the folders. From meson.build: WARM.
. "$(dirname "$0")/common.sh"

PATH="$(dirname "$WARM"):$PATH"
chmod 0755 "$work"
cd "$work"

# stranger ANSWER WORD...: as a user with no home and no compiler, with those words before the program, where root can
# be somebody else; else as this one.
stranger() {
  answer=$1
  shift
  if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$ASK" 2>/dev/null; then
    set -- setpriv --reuid=65534 --regid=65534 --clear-groups env "$@"
  else
    set -- env "$@"
  fi
  HOME=/nonexistent SWA_JIT_NVRTC=/nonexistent/libnvrtc.so "$@" >"$answer" 2>"$answer.log"
}

# ---- What a program asks for

SWA_JIT_NVRTC="$NVRTC_FAKE" SWA_JIT_RECORD="$work/record" ask "$work/recording" --cache-dir "$work/scratch" \
  --config 'arch=sm_90a window_size=64' --config 'arch=sm_90a splits=1'
[ "$(grep -c '^arch=' record)" = 2 ] || fail "the record is $(cat record)"

# ---- A container image

SWA_JIT_NVRTC="$NVRTC_FAKE" swa-jit-warm --quiet --from record --arch sm_90a,sm_100a --cache-dir opt/swa-jit
[ "$(find opt/swa-jit -name '*.cubin' | wc -l)" = 4 ] || fail "not 2 configurations for 2 architectures"
for variables in "SWA_JIT_CACHE_PATH=$work/opt/swa-jit" "SWA_JIT_CACHE_DIR=$work/opt/swa-jit SWA_JIT_READ_ONLY=1"; do
  # shellcheck disable=SC2086 # two words
  stranger "$work/image" $variables SWA_JIT_NO_COMPILE=1 "$ASK" --config 'arch=sm_90a window_size=64' \
    --config 'arch=sm_100a splits=1'
  [ "$(grep -cx origin=store "$work/image")" = 2 ] || fail "$variables: $(cat "$work/image" "$work/image.log")"
  # shellcheck disable=SC2086
  stranger "$work/check" $variables swa-jit-warm --check --from record || fail "$variables: $(cat "$work/check")"
  status=0
  # shellcheck disable=SC2086
  stranger "$work/check" $variables swa-jit-warm --check --window-size 999 || status=$?
  [ "$status" = 3 ] || fail "$variables: --check of what is missing ends with $status"
done
[ "$(grep -c '^log 2 ' "$work/image.log")" = 0 ] || fail "a folder that is only read is no reason for a warning"

# ---- A fleet

SWA_JIT_NVRTC="$NVRTC_FAKE" swa-jit-warm --quiet --from record --arch sm_90a,sm_100a --cache-dir pack
swa-jit-warm --quiet --export pack.tar --cache-dir pack
swa-jit-warm --quiet --import pack.tar --cache-dir machine/swa-jit
stranger "$work/machine_answer" SWA_JIT_CACHE_PATH="$work/machine/swa-jit" SWA_JIT_NO_COMPILE=1 "$ASK" \
  --config 'arch=sm_100a window_size=64'
expect "$work/machine_answer" origin=store layer_hits=1
swa-jit-warm --quiet --prune --outdated --cache-dir machine/swa-jit
[ "$(find machine/swa-jit -name '*.cubin' | wc -l)" = 4 ] || fail "entries of this release were removed"
mkdir packs
mv pack packs/second
ln -s second packs/current
stranger "$work/current" SWA_JIT_CACHE_PATH="$work/packs/first:$work/packs/current/." SWA_JIT_NO_COMPILE=1 "$ASK" \
  --config 'arch=sm_100a window_size=64'
expect "$work/current" origin=store layer_hits=1

# ---- PTX for what is there already

SWA_JIT_NVRTC="$NVRTC_FAKE" SWA_JIT_KEEP_PTX=1 swa-jit-warm --quiet --from record --arch sm_80 --cache-dir old
SWA_JIT_NVRTC="$NVRTC_FAKE" swa-jit-warm --quiet --from record --arch sm_89 --cache-dir old
[ "$(find old -name '*.ptx' | wc -l)" = 2 ] || fail "not the PTX of sm_80 alone"
SWA_JIT_NVRTC="$NVRTC_FAKE" SWA_JIT_KEEP_PTX=1 swa-jit-warm --quiet --from record --arch sm_89 --cache-dir old \
  --dump-ptx dumps
[ "$(find old -name '*.ptx' | wc -l)" = 4 ] || fail "not the PTX of sm_89 too"
