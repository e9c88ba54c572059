#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --cache-dir store --dry-run --arch sm_90a,sm_100a --head-group 16,64 --kv-tile 64
echo "status $?"
find store -name "*.cubin" 2>/dev/null
exit 0
