#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
export FAKE_CUDA_FAULT=init
swa-jit-run --cuda "$FAKE_LIBCUDA"
