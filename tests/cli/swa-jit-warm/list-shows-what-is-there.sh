#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --cache-dir store --quiet --arch sm_80,sm_90a
swa-jit-warm --cache-dir store --quiet --arch sm_80 --kernel merge
cp "$(ls store/swa_decode-sm_80-*)" "$(ls store/swa_decode-sm_80-*).bad-00112233"
printf half >store/.tmp-00112233445566778899aabbccddeeff
printf bad >"$(ls store/swa_decode-sm_90a-*)"
swa-jit-warm --cache-dir store --list >out
status=$?
# Without what changes with the template and the time: digests, sizes and ages.
head -n 1 out | sed 's/  */ /g'
sed '1d;$d' out | awk '{ print $1, $2, $4, $5, $6, $(NF - 1), $NF }'
tail -n 1 out | sed 's/, [0-9.]* [KMi]*B:/:/'
exit $status
