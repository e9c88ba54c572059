#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --from wanted.txt --kv-tile 64
