#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
printf "# two lines\narch=sm_90a head_dim=512\nhead_dim=5x12\n" >wanted.txt
swa-jit-warm --from wanted.txt
