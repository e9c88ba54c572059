# SPDX-License-Identifier: Apache-2.0
"""check_words.py TARGET WARM RUN BENCH: every option that a tool's --help lists is a word of TARGET/dict, both alone on
a line and before a value, and the dictionary has no option that no tool has; every option of the first tool stands in
a seed. Prints what is missing."""

import pathlib
import re
import subprocess
import sys


def options_of(tool):
    text = subprocess.run([tool, "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^ +(--[a-z][a-z-]*)", text, re.M))


def main():
    target = pathlib.Path(sys.argv[1])
    options = [options_of(tool) for tool in sys.argv[2:]]
    words = set(re.findall(r'^"(.*)"$', (target / "dict").read_text(encoding="utf-8"), re.M))
    shown = {"--help", "--help-mdoc", "--version"}
    known = set().union(*options) - shown
    wanted = {word for name in known for word in (f"\\x0a{name}\\x0a", f"{name}=")}
    problems = [f"dict lacks {word}" for word in wanted - words]
    listed = {match.group(1) for word in words if (match := re.fullmatch(r"(--[a-z-]+)=", word))}
    problems += [f"dict has {name}, which no tool has" for name in listed - known]
    seeds = b"\n".join(path.read_bytes() for path in (target / "corpus").iterdir())
    used = {name.decode() for name in re.findall(rb"--[a-z][a-z-]*", seeds)}
    problems += [f"no seed has {name}" for name in options[0] - used]
    if min(map(len, options)) < 10:
        problems.append("a tool's --help lists hardly any options: is its form another?")
    good = f"{len(known)} options are words, {len(options[0])} are in seeds"
    print("\n".join(sorted(problems)) if problems else good)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
