#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --head-dim "512 head_group=8"
