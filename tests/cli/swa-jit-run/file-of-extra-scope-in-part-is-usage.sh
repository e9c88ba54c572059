#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --kv-format bf16 --q q.npy --kv kv.npy --indices i.npy --lens l.npy --extra-kv x.npy
