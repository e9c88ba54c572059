#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --version | sed "s/ [0-9.]*$/ X.Y.Z/"
