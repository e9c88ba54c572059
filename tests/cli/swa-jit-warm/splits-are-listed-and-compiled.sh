#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-warm --splits 0,1 --head-dim 64 --cache-dir store --json --quiet | sed -n 's/.*"configuration": //p'
find store -name "*-sp1-*.cubin" | wc -l
