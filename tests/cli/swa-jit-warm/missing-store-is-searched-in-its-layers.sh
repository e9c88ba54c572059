#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who asks what would have to be compiled is answered from the read-only folders where there is no folder to write yet.
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir layer --quiet --arch sm_80,sm_90a
ask() { swa-jit-warm "$@" --arch sm_90a,sm_100a | sed 's/arch=\(sm_[0-9a]*\) .*/\1/' | grep -v nearest; }
for layers in "" "$PWD/layer"; do
  echo "layers: ${layers##*/}"
  SWA_JIT_CACHE_PATH=$layers ask --check --cache-dir missing
  SWA_JIT_CACHE_PATH=$layers ask --explain --cache-dir missing
  SWA_JIT_CACHE_PATH=$layers SWA_JIT_CACHE_DIR=missing ask --explain
  SWA_JIT_CACHE_PATH=$layers ask --explain # below HOME
  SWA_JIT_CACHE_PATH=$layers ask --dry-run --cache-dir missing | tail -n 1
done
XDG_CACHE_HOME=$PWD/none swa-jit-warm --import /dev/null --dry-run
ls -A . "$HOME"
