#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --device emulator --arch sm_89
