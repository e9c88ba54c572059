#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
for options in "--cluster-size 0,2" "--window-size 129 --cluster-size 0,4" "--kv-tile 64 --cluster-size 4" \
  "--host --kv-tile 128 --cluster-size 4"; do
  # shellcheck disable=SC2086 # several words
  swa-jit-bench $options
  status=$?
done
exit "$status"
