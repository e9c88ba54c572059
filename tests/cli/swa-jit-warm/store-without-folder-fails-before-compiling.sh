#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
unset HOME
swa-jit-warm --nvrtc "$TMP/no-nvrtc.so"
status=$?
swa-jit-warm --dry-run --quiet || exit
exit $status
