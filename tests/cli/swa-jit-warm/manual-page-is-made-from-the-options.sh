#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --help-mdoc >page || exit
diff page "$MANUAL_PAGES/swa-jit-warm/swa-jit-warm.1"
