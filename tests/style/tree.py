# SPDX-License-Identifier: Apache-2.0
"""What the style checks share: the project's files, C text without comments and strings, functions and their lengths,
and the way a check is run. A check is a function of the tree's root that returns a list of problems, one line each."""

import re
import sys
from pathlib import Path

SKIP = 77
HOST_SUFFIXES = {".c", ".h"}
DEVICE_SUFFIXES = {".cu", ".cuh"}
FOLDERS = ["include", "src", "kernel_templates", "python", "tools", "tests", "examples", "docs", ".ci"]


class Skip(Exception):
    """The check cannot run here; the text says why."""


def files(root, folders=None, suffixes=None):
    """Every file of the project below the given folders, caches of Python left out."""
    found = []
    for folder in folders or FOLDERS:
        found += [
            path for path in sorted((root / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts
        ]
    if folders is None:
        found += [path for path in sorted(root.iterdir()) if path.is_file() and path.name != ".git"]
    return [path for path in found if suffixes is None or path.suffix in suffixes]


def text_of(path):
    return path.read_text(encoding="utf-8")


def code_only(text):
    """The text with comments and the insides of literals blanked; every newline and column stays where it is."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        kept = match.group(0)
        if kept[0] in "\"'":
            return kept[0] + re.sub(r"[^\n]", " ", kept[1:-1]) + kept[0]
        return re.sub(r"[^\n]", " ", kept)

    return pattern.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def functions(text):
    """(name, first line, number of lines) of each function defined in C or CUDA text; namespaces and extern "C" blocks
    are looked into, types are not functions."""
    code = re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
        lambda match: re.sub(r"[^\n]", " ", match.group(0)),
        code_only(text),
        flags=re.M,
    )
    found = []
    depth = 0
    start = 0
    inside = None
    for match in re.finditer(r"[{};]", code):
        mark = match.group(0)
        if inside is None:
            head = code[start : match.start()]
            if mark == "{":
                if re.search(r'\bnamespace\b[\s\w:]*$|\bextern\s*"[^"]*"\s*$', head):
                    start = match.end()
                    continue
                name = re.search(
                    r"([A-Za-z_]\w*)\s*\([^;]*\)\s*(?:const|noexcept|__attribute__\s*\(\(.*?\)\))?\s*$", head, re.S
                )
                function = name if name and "=" not in head.split("(")[0] else None
                first = start + len(head) - len(head.lstrip())
                inside = (
                    function.group(1) if function else None,
                    first,
                    bool(re.search(r"\b(struct|union|enum|class)\b[^()]*$", head)),
                )
                depth = 1
            else:
                start = match.end()
        elif mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                name, first, is_type = inside
                if name and not is_type:
                    found.append((name, line_of(code, first), line_of(code, match.start()) - line_of(code, first) + 1))
                inside = None
                start = match.end()
    return found


def run(check, *arguments):
    """Runs a check as a program: prints its problems; exit code 0, 1 or 77."""
    try:
        problems = check(*arguments)
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


def root_argument():
    return Path(sys.argv[1]).resolve()
