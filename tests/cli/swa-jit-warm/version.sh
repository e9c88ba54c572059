#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --version | sed "s/ [0-9.]*$/ X.Y.Z/"
