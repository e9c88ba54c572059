#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --arch sm_90a --arch sm_100a
