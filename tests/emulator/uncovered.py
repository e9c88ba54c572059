# SPDX-License-Identifier: Apache-2.0
"""uncovered.py FOLDER [LIST]: the opcodes, with their modifiers, in the .ptx files of a folder (swa-jit-warm
--dump-ptx) that no test of the emulator's instructions names: in a test_*.c, as a printf format in a *_case.c, or in
LIST (golden --list). Exit status 1 if there is any."""

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


def read(folder, names):
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob(names)))


def of_format(text):
    """An opcode as a test prints it: %u is a number, %s any words."""
    parts = re.split(r"(%[us])", text)
    return "".join({"%u": r"\d+", "%s": r"[\w.:]*"}.get(part, re.escape(part)) for part in parts)


def tested(listed):
    """What the tests name; the formats among it as one regular expression."""
    here = Path(__file__).parent
    plain = set(re.findall(r"[a-z][\w]*(?:\.[\w:]+)*", read(here, "test_*.c")))
    formats = re.findall(r'"([a-z]\w+(?:\.[\w:%]+)+%[us])"', read(here, "*_case.c"))
    return plain | set(listed), re.compile("|".join(of_format(one) for one in formats))


def main():
    wanted = set()
    for path in sorted(Path(sys.argv[1]).glob("*.ptx")):
        wanted |= opcodes(path.read_text(encoding="utf-8"))
    listed = Path(sys.argv[2]).read_text(encoding="utf-8").split() if len(sys.argv) > 2 else []
    plain, others = tested(listed)
    missing = sorted(opcode for opcode in wanted - plain if not others.fullmatch(opcode))
    print(f"{len(wanted)} opcodes, {len(missing)} without a test of their own")
    print("\n".join(missing))
    sys.exit(1 if missing or not wanted else 0)


if __name__ == "__main__":
    main()
