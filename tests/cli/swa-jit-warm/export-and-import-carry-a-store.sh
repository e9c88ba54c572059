#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
export SWA_JIT_CACHE_DIR=store
swa-jit-warm --quiet --arch sm_80,sm_90a --kernel decode,merge
swa-jit-warm --quiet --kv-format footer_584 --extra-format footer_584 --extra-size 512 --sinks 1 --soft-cap 1 \
  --index-type int64 # a name of more than 100 bytes
swa-jit-warm --export layer.tar | sed 's/ of [0-9.]* [KMi]*B / /'
tar -tf layer.tar | sort | sed 's/-[0-9a-f]*.cubin/-<digest>/'
mkdir untarred
tar -C untarred -xf layer.tar
diff -r store untarred | grep '\.cubin$'
swa-jit-warm --cache-dir copy --import layer.tar | sed 's/ of [0-9.]* [KMi]*B;/;/'
diff -r copy untarred
rm "$(ls copy/swa_merge-sm_80-*)"
swa-jit-warm --cache-dir copy --import layer.tar --dry-run | sed 's/ of [0-9.]* [KMi]*B;/;/'
swa-jit-warm --export - 2>/dev/null | swa-jit-warm --cache-dir copy --import - | sed 's/ of [0-9.]* [KMi]*B;/;/'
swa-jit-warm --cache-dir missing --import layer.tar --dry-run | sed 's/ of [0-9.]* [KMi]*B;/;/'
ls
SWA_JIT_NO_COMPILE=1 swa-jit-warm --cache-dir copy --arch sm_80,sm_90a --kernel decode,merge 2>/dev/null | tail -n 1 |
  cut -d \; -f 1
