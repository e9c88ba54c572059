#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
for device in gpu emulator; do
  swa-jit-run --device $device --cache-dir store --nvrtc "$TMP/no-nvrtc.so" 2>err
  status=$?
  grep -c "SWA_JIT_NO_COMPILER" err
done
exit "$status"
