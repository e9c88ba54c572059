#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --cache-dir store --extra-size 512 --head-dim-v 512
