#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --device gpu --cache-dir store
status=$?
find store -name "*.cubin" | wc -l
exit $status
