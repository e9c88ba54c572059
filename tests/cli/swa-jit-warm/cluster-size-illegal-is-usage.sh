#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --preset deepseek-v4 --cluster-size 4
swa-jit-warm --cluster-size 2
