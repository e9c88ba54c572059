#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Over a store that has the cubins alone: asked for, explained, made, and then a hit.
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --arch sm_80,sm_90a --quiet
cubins() { find store -name '*.cubin' -printf '%f %i %T@\n' | sort; }
before=$(cubins)
swa-jit-warm --cache-dir store --arch sm_80,sm_90a --check --keep-ptx | tail -n 1
SWA_JIT_KEEP_PTX=1 swa-jit-warm --cache-dir store --arch sm_80 --explain
swa-jit-warm --cache-dir store --arch sm_80 --keep-ptx --quiet
SWA_JIT_KEEP_PTX=1 swa-jit-warm --cache-dir store --arch sm_80,sm_90a --json 2>/dev/null |
  grep '"result"\|"hit"\|"compiled"'
swa-jit-warm --cache-dir store --arch sm_80,sm_90a --keep-ptx --check && echo "nothing is missing"
[ "$before" = "$(cubins)" ] || echo "the cubins are others"
find store -name '*.ptx' | wc -l
