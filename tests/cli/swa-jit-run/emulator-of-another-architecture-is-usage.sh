#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --device emulator:sm_80 --arch sm_90a
