#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --device emulator --cuda "$TMP/no-emulator.so"
