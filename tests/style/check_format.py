# SPDX-License-Identifier: Apache-2.0
"""clang-format 14 leaves every C and CUDA file as it is. Other versions lay out differently, so they skip."""

import re
import shutil
import subprocess

import tree

VERSION = 14


def formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(rf"version {VERSION}\.", said):
                return path
    raise tree.Skip(f"no clang-format {VERSION}")


def check(root):
    program = formatter()
    sources = tree.files(
        root, ["include", "src", "kernel_templates", "tools", "tests"], tree.HOST_SUFFIXES | tree.DEVICE_SUFFIXES
    )
    run = subprocess.run(
        [program, "--dry-run", "--Werror", *map(str, sources)], capture_output=True, text=True, check=False, cwd=root
    )
    places = sorted(set(re.findall(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", run.stderr, re.M)))
    if run.returncode != 0 and not places:
        return [run.stderr]
    return [f"{path}:{line}: not as clang-format {VERSION} lays it out" for path, line in places]


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
