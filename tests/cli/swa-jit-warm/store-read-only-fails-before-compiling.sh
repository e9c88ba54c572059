#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compile would fail with another status: there is no compiler.
mkdir -m 700 store
SWA_JIT_READ_ONLY=1 swa-jit-warm --cache-dir store --nvrtc "$TMP/no-nvrtc.so" --arch sm_90a,sm_100a
