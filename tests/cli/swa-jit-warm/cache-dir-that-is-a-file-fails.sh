#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
echo text >cubins
swa-jit-warm --cache-dir cubins
