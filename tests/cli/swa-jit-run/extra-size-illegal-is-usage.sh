#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --extra-size 8193
