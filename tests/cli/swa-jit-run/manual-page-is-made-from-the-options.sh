#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-run --help-mdoc >page || exit
diff page "$MANUAL_PAGES/swa-jit-run/swa-jit-run.1"
