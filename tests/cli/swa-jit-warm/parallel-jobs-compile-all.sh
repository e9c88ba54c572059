#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-warm --cache-dir store --jobs 4 --arch sm_80,sm_90a --head-group 16,32 --quiet || exit
find store -name "*.cubin" | wc -l
