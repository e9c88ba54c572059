#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
. "$CASES/emulator.sh"
run_small --json >out.json || exit
python3 - <<"END"
import json
report = json.load(open("out.json"))
print(report["result"], report["device"], report["emulated"], report["origin"], report["no_gpu"] != "")
print(sorted(report))
END
