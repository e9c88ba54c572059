#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --device emulated
