#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
# The times are of nothing: the fake device runs no graph. What is launched and told is the point.
SWA_JIT_CUDA=$FAKE_LIBCUDA swa-jit-bench --cache-dir store --tokens 1,64 --num-heads 128 --head-dim 64 \
  --kv-format e4m3 --extra-size 1024 --num-slots 4096 --head-group 16 --kv-tile 64 --num-splits 0,1,16,pick \
  --replays 1 --every --csv out.csv --json out.json >out || exit
sed -n 's/;.*//p; /group/p' out | tr -s ' '
cut -d , -f 4,8,9,24,25 out.csv
python3 - <<"END"
import json
for point in json.load(open("out.json"))["points"]:
    print(point["num_tokens"], [(k["num_splits"], k["splits_picked"]) for k in point["kernels"]])
END
find store -name "*.cubin" | wc -l
