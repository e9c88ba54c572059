# SPDX-License-Identifier: Apache-2.0
"""clang-tidy with the repository's .clang-tidy is clean on src/*.c. Arguments: root, build folder."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

VERSION = 14


def tidy():
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        path = shutil.which(name)
        if (
            path
            and f"version {VERSION}."
            in subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        ):
            return path
    raise tree.Skip(f"no clang-tidy {VERSION}")


def check(root, build):
    program = tidy()

    def one(source):
        # The compiler's own warnings are the build's matter: gcc's flags are not all clang's.
        run = subprocess.run(
            [program, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option", str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        return run.stdout.strip() if run.returncode != 0 else ""

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return [said for said in pool.map(one, tree.files(root, ["src"], {".c"})) if said]


if __name__ == "__main__":
    tree.run(check, tree.root_argument(), Path(sys.argv[2]))
