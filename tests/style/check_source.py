# SPDX-License-Identifier: Apache-2.0
"""What src/ must not do: read the environment outside options.c, print, exit, abort, assert or handle signals.
And every C and CUDA file says its licence in its first line."""

import re

import tree

FORBIDDEN = {
    "printing": r"\b(?:v?f?printf|v?dprintf|puts|fputs|putchar|perror|stdout|stderr)\b",
    "ending the process": r"\b(?:abort|exit|_exit|quick_exit|assert|__builtin_trap|raise|signal|sigaction|atexit)\s*\(",
}
ENVIRONMENT = r"\b(?:secure_getenv|getenv|setenv|putenv|environ)\b"
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def check(root):
    problems = []
    for path in tree.files(root, ["src"], tree.HOST_SUFFIXES):
        name = path.relative_to(root)
        code = tree.code_only(tree.text_of(path))
        # The format attribute's archetype is no call.
        code = re.sub(r"format\(printf,", "format(      ,", code)
        rules = dict(FORBIDDEN)
        if path.name != "options.c":
            rules["reading the environment (options.c alone does)"] = ENVIRONMENT
        for what, pattern in rules.items():
            problems += [
                f"{name}:{tree.line_of(code, match.start())}: {match.group(0).strip('( ')}: {what} is not for src/"
                for match in re.finditer(pattern, code)
            ]
    for path in tree.files(
        root, ["include", "src", "kernel_templates", "tools", "tests"], tree.HOST_SUFFIXES | tree.DEVICE_SUFFIXES
    ):
        if LICENCE not in tree.text_of(path).split("\n", 1)[0]:
            problems.append(f"{path.relative_to(root)}:1: the first line is not the {LICENCE} line")
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
