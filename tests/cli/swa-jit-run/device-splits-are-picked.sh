#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
for tokens in 1 64; do
  swa-jit-run --cuda "$FAKE_LIBCUDA" --cache-dir store --num-tokens $tokens --num-heads 128 --head-dim 64 \
    --extra-size 1024 --kv-format e4m3 --head-group 16 --kv-tile 64 --repeat 1 --no-check --num-splits pick --json \
    >out.json || exit
  python3 - <<"END"
import json
report = json.load(open("out.json"))
print(report["num_splits"], report["workspace_bytes"] > 0, "-sp1-" in report["kernel"])
END
done
