#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --preset deepseek-v4-flash --extra-size 512
