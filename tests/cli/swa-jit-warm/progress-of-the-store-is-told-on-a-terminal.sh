#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands that read every byte of a store tell how far they are, on a line that is overwritten: of a run that takes
# longer than a tenth of a second, as it was held up. One that was faster than that is tried again.
export SWA_JIT_NVRTC="$NVRTC_FAKE" FAKE_NVRTC_BYTES=1000000
swa-jit-warm --cache-dir store --quiet --window-size "$(seq -s , 1 40)"
swa-jit-warm --cache-dir store --export whole.tar --quiet
python3 - <<"END"
import os, pty, re, shutil, signal, subprocess, time

def lines_of(command):
    ours, theirs = pty.openpty()
    tool = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
    for _ in range(4):
        time.sleep(0.005)
        tool.send_signal(signal.SIGSTOP)
        time.sleep(0.15)
        tool.send_signal(signal.SIGCONT)
    status = tool.wait()
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(ours)
    return status, text.decode()

for words in (["--verify"], ["--export", "layer.tar"], ["--import", "whole.tar"]):
    for _ in range(50):
        store = "copy" if words[0] == "--import" else "store"
        shutil.rmtree("copy", ignore_errors=True)
        status, text = lines_of(["swa-jit-warm", "--cache-dir", store, *words])
        if "[" in text.replace("\033[K", ""):
            break
    steps = re.findall(r"\r\033\[K\[(\d+)(?:/40)?\] [a-z ]+", text)
    print(words[0], status, len(steps) > 0, all(0 < int(step) <= 40 for step in steps), text.endswith("\r\033[K"),
          "\n" not in text)
END
