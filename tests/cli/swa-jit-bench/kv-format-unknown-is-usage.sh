#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --kv-format fp8_ds_mla
