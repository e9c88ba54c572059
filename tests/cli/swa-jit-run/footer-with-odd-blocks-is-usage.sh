#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --kv-format footer_584 --block-size 7
