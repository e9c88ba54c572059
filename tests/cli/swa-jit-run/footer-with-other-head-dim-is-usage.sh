#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --cache-dir store --kv-format footer_528 --head-dim 128
