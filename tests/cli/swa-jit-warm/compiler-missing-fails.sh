#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --cache-dir store --nvrtc "$TMP/no-nvrtc.so" --quiet 2>err
status=$?
grep -c "SWA_JIT_NO_COMPILER" err
exit $status
