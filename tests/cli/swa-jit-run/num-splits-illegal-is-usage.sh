#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --num-splits 257
first=$?
swa-jit-run --num-splits most
second=$?
echo $first
exit $second
