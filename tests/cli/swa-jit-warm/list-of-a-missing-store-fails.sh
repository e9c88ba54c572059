#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --cache-dir store --list
status=$?
ls
exit $status
