#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --kv-format fp8
