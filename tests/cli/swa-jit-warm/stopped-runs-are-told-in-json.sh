#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A signal while the tool compiles and while it prunes. A run that was faster than the signal is tried again.
export SWA_JIT_NVRTC="$NVRTC_FAKE"
cat >stopped.py <<"END"
import glob, json, os, shutil, signal, subprocess, sys
name, *options = sys.argv[1:]
for _ in range(50):
    shutil.rmtree("store", ignore_errors=True)
    shutil.copytree("full" if name == "prune" else "empty", "store")
    before = len(glob.glob("store/*.cubin"))
    command = ["swa-jit-warm", "--cache-dir", "store", "--json", *options]
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while tool.poll() is None and len(glob.glob("store/*.cubin")) == before:
        pass
    tool.send_signal(signal.SIGINT)
    text = tool.communicate()[0]
    if tool.returncode != 0:
        break
report = json.loads(text)
open(name + ".json", "w").write(text)
held = len(glob.glob("store/*.cubin"))
print(name, "status", tool.returncode)
if name == "prune":
    print("stopped", report["stopped"], "removed are gone", report["removed"] == before - held)
    print("the others stay", report["kept"] == held)
else:
    print("the others are stopped", report["stopped"] == 60 - held > 0)
    print("compiled are there", report["compiled"] == held)
END
mkdir -m 700 empty
swa-jit-warm --cache-dir full --quiet --window-size "$(seq -s , 1 200)"
chmod 700 full
FAKE_NVRTC_MS=50 python3 stopped.py compile --window-size "$(seq -s , 1 60)"
swa-jit-warm --cache-dir store --json --window-size "$(seq -s , 1 60)" 2>/dev/null | grep '"stopped"'
python3 stopped.py prune --prune --max-bytes 0
swa-jit-warm --cache-dir store --prune --max-bytes 0 --quiet
find store -name '*.cubin' | wc -l
python3 "$CASES/check_json.py" --some "$MANUAL_PAGES/../docs/swa-jit-warm-json.md" compile.json prune.json
