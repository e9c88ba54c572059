#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --extra-format bf16
