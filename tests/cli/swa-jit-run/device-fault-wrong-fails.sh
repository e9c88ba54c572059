#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/device.sh"
export FAKE_CUDA_FAULT=wrong
run_small --json >out.json
status=$?
python3 - <<"END"
import json
report = json.load(open("out.json"))
print(report["result"], report["unwritten_out"], report["wrote_past_end"])
print((report["out_error"] or 1) < report["out_limit"], report["lse_error"] < report["lse_limit"])
END
exit $status
