#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
run_long() {
  swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --num-tokens 2 --num-heads 40 --window-size 24 --repeat 1 "$@"
}
run_long --head-group 16 --cluster-size 4 >out || exit
sed -n 's/: [0-9]* threads.*//; /^kernel/p; /head_group/p; $p' out
echo "beside a head_group or kv_tile there are none, unless asked for"
run_long --head-group 8 >out || exit
grep -c cluster out
for options in "--head-group 8" "--kv-tile 128" "--cluster-size 4 --head-group 8" "--cluster-size 4" \
  "--cluster-size 0"; do
  # shellcheck disable=SC2086 # several words
  run_long $options --json >out.json || exit
  python3 - "$options" <<"END"
import json, sys
report = json.load(open("out.json"))
print(sys.argv[1] + ":", report["result"], report["cluster_size"], "-cl4-" in report["kernel"])
END
done
