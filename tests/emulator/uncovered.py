# SPDX-License-Identifier: Apache-2.0
"""uncovered.py WARM GOLDEN ARCH: compiles a grid of configurations for an architecture and lists the opcodes, with all
their modifiers, in the PTX that no test of the emulator's instructions runs: none of GOLDEN's cases, no text in a
test_*.c and no printf format in a *_case.c. Exit status: 0 none, 1 some, 77 there is no compiler."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

GRID = [
    "--head-dim 64,512 --kv-format e4m3_slot,e4m3,bf16 --window-size 17,300",
    "--kv-format footer_584,footer_528 --kv-tile 16,32,64",
    "--head-dim 128 --head-dim-v 64,192 --kv-format bf16,e4m3 --sinks 1 --soft-cap 1 --index-type int32,int64"
    " --lens-type int64",
    "--extra-size 64 --extra-format e4m3_slot,e4m3,bf16,footer_584,footer_528 --splits 0,1 --sinks 1"
    " --scale-type bfloat16",
    "--head-group 8,16,32,64,128 --kv-tile 16,64 --lse 0,1",
    "--kernel merge",
]
OPCODE = r"[a-z]\w*(?:\.[a-z_0-9][\w:]*)*"


def opcodes(text):
    """The distinct opcodes of a PTX text's kernels."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    found = set()
    for statement in re.split(r"[;{}]\s|:\s", text):
        match = re.match(rf"\s*(?:@!?[%\w$]+\s+)?({OPCODE})(?=[\s;]|$)", statement)
        if match:
            found.add(match.group(1))
    return found


def compile_grid(warm, arch, folder):
    """The PTX of the grid; None where there is no compiler."""
    environment = dict(os.environ, SWA_JIT_USE_PTX="1")
    for lists in GRID:
        command = [warm, "--quiet", "--arch", arch, "--cache-dir", folder] + lists.split()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            if "SWA_JIT_NO_COMPILER" in done.stderr:
                return None
            sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return [path.read_bytes().decode("utf-8", "replace") for path in sorted(Path(folder).glob("*.ptx"))]


def of_format(text):
    """An opcode as a test prints it: %u is a number, %s any words."""
    parts = re.split(r"(%[us])", text)
    return "".join({"%u": r"\d+", "%s": r"[\w.:]*"}.get(part, re.escape(part)) for part in parts)


def exercised(golden):
    """The opcodes that a test runs; the formats among them as one regular expression."""
    found = set(subprocess.run([golden, "--list"], capture_output=True, text=True, check=True).stdout.split())
    formats = []
    for path in sorted(Path(__file__).parent.glob("test_*.c")) + sorted(Path(__file__).parent.glob("*_case.c")):
        text = path.read_text(encoding="utf-8")
        if path.name.endswith("_case.c"):
            formats += re.findall(r'"([a-z]\w+(?:\.[\w:%]+)+%[us])"', text)
        elif path.name != "test_parse.c":
            for literal in re.findall(r'"(?:[^"\\\n]|\\.)*"', text):
                found |= set(re.findall(rf"(?<![\w.]){OPCODE}(?![\w.])", literal.replace("\\n", " ")))
    return found, re.compile("|".join(of_format(one) for one in formats))


def main():
    warm, golden, arch = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        texts = compile_grid(warm, arch, folder)
    if texts is None:
        print("skipped: there is no compiler")
        sys.exit(77)
    wanted = set().union(*(opcodes(text) for text in texts)) if texts else set()
    plain, formats = exercised(golden)
    missing = sorted(opcode for opcode in wanted - plain if not formats.fullmatch(opcode))
    print(f"{arch}: {len(texts)} kernels, {len(wanted)} opcodes, {len(missing)} without a test of their own")
    print("\n".join(missing))
    sys.exit(1 if missing or len(wanted) < 50 else 0)


if __name__ == "__main__":
    main()
