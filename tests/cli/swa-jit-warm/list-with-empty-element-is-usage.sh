#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --kv-tile 16,,64
