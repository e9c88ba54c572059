#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --cache-dir store --arch sm_103a --head-dim 64
