#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --device gpu --cache-dir store --num-splits pick --head-dim 64
status=$?
find store -name "*-sp1-*.cubin" | wc -l
exit $status
