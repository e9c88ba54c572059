#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file that may not grow ends no run without a word, and leaves nothing.
export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_BYTES=20000
swa-jit-warm --cache-dir store --quiet --window-size 1,2,3
swa-jit-warm --cache-dir store --export whole.tar --quiet
limited() {
  (ulimit -f 10 && "$@" 2>&1)
  echo "status $?"
}
limited swa-jit-warm --cache-dir store --export small.tar --quiet
limited sh -c 'cat whole.tar | swa-jit-warm --cache-dir copy --import - --quiet'
limited swa-jit-warm --cache-dir store --dump-source dumps --quiet |
  sed 's/arch=.*lse=1/<configuration>/; s/-[^ ]*\././'
ls -A
