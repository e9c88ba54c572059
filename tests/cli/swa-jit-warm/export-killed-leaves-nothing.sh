#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGKILL at ten instants of an export: the old archive stays, no file beside it, and the same command makes the new
# one.
export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_BYTES=1000000
swa-jit-warm --cache-dir store --quiet --window-size "$(seq -s , 1 40)"
echo old >layer.tar
python3 - <<"END"
import os, signal, subprocess
command = ["swa-jit-warm", "--cache-dir", "store", "--export", "layer.tar", "--quiet"]
num_killed = 0
for i in range(100):
    tool = subprocess.Popen(command)
    for _ in range(i * 200):
        if tool.poll() is not None:
            break
    tool.kill()
    was_killed = tool.wait() == -signal.SIGKILL
    num_killed += was_killed
    names = sorted(os.listdir())
    left = [name for name in names if name.startswith(".swa-jit-export-")]
    if names != ["layer.tar", "store"] and (not was_killed or len(left) > 1 or len(names) > 3):
        print("left over:", names)
    whole = open("layer.tar", "rb").read()
    if whole != b"old\n" and subprocess.run(["tar", "-tf", "layer.tar"], capture_output=True).stdout.count(b"\n") != 40:
        print("the archive is neither the old one nor whole")
    if left:
        os.unlink(left[0])  # between its link and its new name: an instant; the next but one would remove it
    open("layer.tar", "w").write("old\n")
    if num_killed == 10:
        break
print("killed", num_killed)
END
swa-jit-warm --cache-dir store --export layer.tar --quiet
tar -tf layer.tar | wc -l
ls -A
