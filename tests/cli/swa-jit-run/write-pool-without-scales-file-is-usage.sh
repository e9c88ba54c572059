#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --write-pool kv.npy --from rows.npy
