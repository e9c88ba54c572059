# SPDX-License-Identifier: Apache-2.0
"""Files of at most 600 lines (the public header, which is the manual, 700), lines of at most 120 characters, host
functions of at most 100 lines (60 is the aim), device functions of at most 150."""

import tree

MAX_FILE_LINES = 600
MAX_MANUAL_LINES = 700  # of include/swa_jit/swa_jit.h
MAX_LINE = 120
MAX_HOST_FUNCTION = 100
MAX_DEVICE_FUNCTION = 150
PLAIN = {".c", ".h", ".cu", ".cuh", ".inc", ".in", ".py", ".sh", ".build", ".txt", ""}


def check(root):
    problems = []
    for path in tree.files(root):
        name = path.relative_to(root)
        if path.name == "LICENSE" or path.suffix not in PLAIN or "corpus" in path.parts:
            continue
        try:
            lines = tree.text_of(path).splitlines()
        except UnicodeDecodeError:
            problems.append(f"{name}: not UTF-8")
            continue
        most = MAX_MANUAL_LINES if name.as_posix() == "include/swa_jit/swa_jit.h" else MAX_FILE_LINES
        if len(lines) > most:
            problems.append(f"{name}: {len(lines)} lines; at most {most}")
        problems += [
            f"{name}:{number}: {len(line)} characters; at most {MAX_LINE}"
            for number, line in enumerate(lines, 1)
            if len(line) > MAX_LINE
        ]
        device = path.suffix in tree.DEVICE_SUFFIXES
        if device or path.suffix in tree.HOST_SUFFIXES:
            limit = MAX_DEVICE_FUNCTION if device else MAX_HOST_FUNCTION
            problems += [
                f"{name}:{first}: {function} has {length} lines; at most {limit}"
                for function, first, length in tree.functions(tree.text_of(path))
                if length > limit
            ]
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
