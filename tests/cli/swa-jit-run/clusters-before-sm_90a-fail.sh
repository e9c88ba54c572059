#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --device gpu --cache-dir store --arch sm_89 --cluster-size 4
