#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each signal reaches the tool and its workers, as from a terminal.
export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_MS=200
python3 - <<"END"
import glob, os, signal, subprocess, time
command = ["swa-jit-warm", "--cache-dir", "store", "--jobs", "2", "--window-size", ",".join(map(str, range(1, 41)))]
for number in (signal.SIGINT, signal.SIGTERM):
    before = len(glob.glob("store/*.cubin"))
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while len(glob.glob("store/*.cubin")) < before + 3:
        time.sleep(0.01)
    time.sleep(0.05) # the next two are under way
    os.killpg(tool.pid, number)
    table, log = tool.communicate()
    held = len(glob.glob("store/*.cubin"))
    print("status", tool.returncode, "left over:", glob.glob("store/.tmp-*"))
    print("new entries are told:", f" {held - before} compiled," in table, f" {40 - held} not done:" in table)
    print("the others are listed:", table.count(" stopped\n") == 40 - held)
    print("waiting is told:", [line for line in log.splitlines() if "a second signal stops at once" in line] != [])
END
FAKE_NVRTC_MS=0 swa-jit-warm --cache-dir store --window-size "$(seq -s , 1 40)" --quiet
echo "status $?, $(find store -name '*.cubin' | wc -l) entries"
swa-jit-warm --cache-dir store --verify | tail -n 1 | cut -d : -f 2
