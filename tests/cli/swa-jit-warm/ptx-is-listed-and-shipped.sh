#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
SWA_JIT_KEEP_PTX=1 swa-jit-warm --cache-dir store --quiet --arch sm_80
swa-jit-warm --cache-dir store --list | awk 'NR > 1 { print $1, $NF }' | sed '$d' | sort
swa-jit-warm --cache-dir store --list --json | grep '"product"' | sort
swa-jit-warm --cache-dir store --export layer.tar --quiet
swa-jit-warm --cache-dir copy --import layer.tar --json | grep '"added"'
swa-jit-warm --cache-dir copy --verify --quiet
echo "status $?"
find store copy -name '*.ptx' | sed 's/-[0-9a-f]*\.ptx/-<digest>.ptx/' | sort
printf x >>"$(ls copy/*.ptx)"
swa-jit-warm --cache-dir copy --verify --set-aside --json 2>/dev/null | grep -c '"state": "bad"'
swa-jit-warm --cache-dir copy --list --json | grep '"product"' | sort
swa-jit-warm --cache-dir store --prune --max-bytes 0 --quiet
find store -name '*.ptx' -o -name '*.cubin'
