#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/device.sh"
run_small --json >out.json || exit
python3 - <<"END"
import json
report = json.load(open("out.json"))
print(report["result"], report["device"], report["origin"], report["unwritten_out"], report["wrote_past_end"])
print(sorted(report))
print(report["out_error"] < report["out_limit"], report["lse_error"] < report["lse_limit"], report["bytes_moved"])
END
