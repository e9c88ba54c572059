#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Holds for root too, who may write into any folder.
ulimit -f 8
swa-jit-warm --cache-dir store --nvrtc "$TMP/no-nvrtc.so" --quiet
status=$?
ls -A store
exit $status
