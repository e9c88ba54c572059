#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A signal as soon as the new archive's file, which has no name yet, is there. An export that was faster is tried again.
export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_BYTES=1000000
swa-jit-warm --cache-dir store --quiet --window-size "$(seq -s , 1 40)"
echo old >layer.tar
python3 - <<"END"
import os, signal, subprocess
command = ["swa-jit-warm", "--cache-dir", "store", "--export", "layer.tar", "--json"]

def has_begun(pid):
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any("(deleted)" in link or ".swa-jit-export-" in link for link in links)

for _ in range(50):
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while tool.poll() is None and not has_begun(tool.pid):
        pass
    tool.send_signal(signal.SIGINT)
    report, log = tool.communicate()
    if tool.returncode != 0:
        print("status", tool.returncode, "report", repr(report))
        print(log, end="")
        break
    open("layer.tar", "w").write("old\n")
END
ls -A
cat layer.tar
swa-jit-warm --cache-dir store --export layer.tar --quiet
tar -tf layer.tar | wc -l
mkfifo pipe
tar -tf pipe | wc -l &
swa-jit-warm --cache-dir store --export pipe --quiet
wait
[ -p pipe ] && echo "a pipe still"
