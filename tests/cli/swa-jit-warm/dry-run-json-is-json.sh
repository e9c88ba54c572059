#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
swa-jit-warm --cache-dir store --dry-run --json --arch sm_80,sm_90a >out.json || exit
python3 - <<"END"
import json
report = json.load(open("out.json"))
print(sorted(report))
print([entry["result"] for entry in report["configurations"]])
print([entry["configuration"] for entry in report["configurations"]])
END
