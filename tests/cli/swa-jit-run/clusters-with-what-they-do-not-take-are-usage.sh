#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
for options in "--cluster-size 2" "--head-dim 64 --cluster-size 4" "--window-size 129 --cluster-size 4" \
  "--head-group 32 --cluster-size 4" "--num-splits 2 --cluster-size 4" "--kv-format bf16 --cluster-size 4" \
  "--write-pool pool.npy --from rows.npy --cluster-size 4"; do
  # shellcheck disable=SC2086 # several words
  swa-jit-run $options
  status=$?
done
exit "$status"
