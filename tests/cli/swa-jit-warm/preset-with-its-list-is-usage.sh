#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --preset deepseek-v4 --head-group 64
