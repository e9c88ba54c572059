#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
export SWA_JIT_NVRTC="$NVRTC_FAKE"
swa-jit-warm --arch sm_90a,sm_89 --kv-tile 64,128 --cluster-size 0,4 --cache-dir store --dry-run --json --quiet \
  >dry.json 2>/dev/null
echo "status $?"
python3 - <<"END"
import json
for entry in json.load(open("dry.json"))["configurations"]:
    fields = dict(word.split("=") for word in entry["configuration"].split())
    print(fields["arch"], fields["kv_tile"], fields.get("cluster_size", 0), entry["result"], entry.get("reason", ""))
END
swa-jit-warm --arch sm_90a --kv-tile 128 --cluster-size 0,4 --cache-dir store --quiet || exit
find store -name "*-cl4-*.cubin" | wc -l
find store -name "*.cubin" | wc -l
echo "arch=sm_90a kv_tile=128 cluster_size=4" | swa-jit-warm --from - --cache-dir store --check --quiet && echo held
