#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --kv-format e4m3 --kv-scale 0.5
