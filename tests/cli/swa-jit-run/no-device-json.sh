#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs: nvrtc
swa-jit-run --device gpu --cache-dir store --json >out.json
status=$?
python3 - <<"END"
import json
report = json.load(open("out.json"))
print(report["result"], report["arch"], report["origin"], report["stored"], sorted(report))
END
exit $status
