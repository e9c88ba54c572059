#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
# The times are of nothing: the fake device runs no graph. What is launched and told is the point.
SWA_JIT_CUDA=$FAKE_LIBCUDA swa-jit-bench --cache-dir store --tokens 1,64 --num-slots 4096 --head-group 16,32 \
  --kv-tile 64,128 --num-splits 0,2 --cluster-size 0,4 --replays 1 --every --csv out.csv --json out.json >out || exit
sed -n 's/;.*//p; /group/p' out | tr -s ' '
cut -d , -f 4,8,9,24,26 out.csv
python3 - <<"END"
import json
for point in json.load(open("out.json"))["points"]:
    print(point["num_tokens"], [k["cluster_size"] for k in point["kernels"]])
END
find store -name "*-cl4-*.cubin" | wc -l
