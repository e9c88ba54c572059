#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --kv-format "bf16 sinks=1"
