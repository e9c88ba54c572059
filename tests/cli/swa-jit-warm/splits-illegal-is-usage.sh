#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --splits 2
