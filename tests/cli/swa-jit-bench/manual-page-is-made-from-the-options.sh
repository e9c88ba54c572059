#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-bench --help-mdoc >page || exit
diff page "$MANUAL_PAGES/swa-jit-bench/swa-jit-bench.1"
