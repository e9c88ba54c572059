#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A link to an archive stays a link, a device a device, and a folder is refused.
export SWA_JIT_NVRTC="$NVRTC_FAKE"
export SWA_JIT_CACHE_DIR=store
swa-jit-warm --quiet --arch sm_90a --kernel merge
echo old >real.tar
ln -s real.tar link.tar
mkdir folder
swa-jit-warm --export link.tar | sed 's/ of [0-9.]* [KMi]*B / /'
[ -L link.tar ] && tar -tf real.tar | sed 's/-[0-9a-f]*.cubin/-<digest>/'
swa-jit-warm --quiet --export /dev/null
[ -c /dev/null ] && echo "a device still"
swa-jit-warm --export folder 2>&1
ls
