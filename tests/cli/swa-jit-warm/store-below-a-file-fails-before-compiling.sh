#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
echo text >file
SWA_JIT_CACHE_DIR=file/store swa-jit-warm --nvrtc "$TMP/no-nvrtc.so" --quiet
