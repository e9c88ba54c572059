# SPDX-License-Identifier: Apache-2.0
"""uncovered.py FOLDER: the opcodes, with their modifiers, in the .ptx files of a folder (swa-jit-warm --dump-ptx) that
no test of the emulator's instructions names. Exit status 1 if there is any."""

import re
import sys
from pathlib import Path


def opcodes(text):
    """The distinct opcodes of a PTX text's kernels."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    found = set()
    for statement in re.split(r"[;{}]\s|:\s", text):
        match = re.match(r"\s*(?:@!?[%\w$]+\s+)?([a-z][\w]*(?:\.[\w:]+)*)(?=[\s;]|$)", statement)
        if match:
            found.add(match.group(1))
    return found


def main():
    wanted = set()
    for path in sorted(Path(sys.argv[1]).glob("*.ptx")):
        wanted |= opcodes(path.read_text(encoding="utf-8"))
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.c"))
    named = set(re.findall(r"[a-z][\w]*(?:\.[\w:]+)*", tests))
    missing = sorted(wanted - named)
    print(f"{len(wanted)} opcodes, {len(missing)} without a test of their own")
    print("\n".join(missing))
    sys.exit(1 if missing or not wanted else 0)


if __name__ == "__main__":
    main()
