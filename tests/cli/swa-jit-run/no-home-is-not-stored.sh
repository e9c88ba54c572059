#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
unset HOME
swa-jit-run --device gpu 2>err
status=$?
grep -c warning err
exit $status
