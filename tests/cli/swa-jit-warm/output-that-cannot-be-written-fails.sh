#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-warm --cache-dir store --jobs 1 --quiet || exit
swa-jit-warm --cache-dir store --jobs 1 --dry-run >/dev/full
