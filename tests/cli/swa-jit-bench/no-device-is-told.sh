#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --quick 2>message
status=$?
cut -d : -f 1,2 message
exit $status
