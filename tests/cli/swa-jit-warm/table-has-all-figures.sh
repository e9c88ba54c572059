#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-warm --cache-dir store >out || exit
head -n 1 out | sed 's/  */ /g'
awk 'NR == 2 { for (i = 6; i <= 10; i++) printf "%s ", ($i ~ /^[0-9]+$/ ? "number" : $i); print $11 }' out
