#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --lse-form base_2 --no-lse
