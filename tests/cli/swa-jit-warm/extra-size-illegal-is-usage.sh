#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --extra-size 8193
