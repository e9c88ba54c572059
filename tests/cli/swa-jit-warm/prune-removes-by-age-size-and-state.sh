#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_80,sm_89,sm_90a,sm_100a
count() { find store -name "$1" | wc -l; }
old=$(ls store/swa_decode-sm_80-*)
older=$(ls store/swa_decode-sm_89-*)
touch -d "40 days ago" "$old"
touch -d "50 days ago" "$older"
cp "$old" "$old.bad-00112233"
printf half >store/.tmp-00112233445566778899aabbccddeeff
printf half >store/.tmp-ffeeddccbbaa99887766554433221100
touch -d "2 hours ago" store/.tmp-00112233445566778899aabbccddeeff
prune() { swa-jit-warm --cache-dir store --prune "$@" | sed '1d;$d' | awk '{ $1 = $2 = ""; print }' | sort; }
prune --dry-run --max-age 30d
echo "$(count '*.cubin') entries, $(count '.tmp-*') temporary, $(count '*.bad-*') set aside"
prune
echo "$(count '*.cubin') entries, $(count '.tmp-*') temporary, $(count '*.bad-*') set aside"
prune --max-age 45d
total=$(cat store/*.cubin | wc -c)
prune --max-bytes $((total - 1 + 4))
echo "$(count '*.cubin') entries"
prune --outdated
swa-jit-warm --cache-dir store --prune --max-bytes 0 --quiet
echo "status $?, $(count '*.cubin') entries, $(count '*.lock') locks"
