# SPDX-License-Identifier: Apache-2.0
"""ruff finds nothing in the Python package, its tests and examples, which are formatted as it formats; mypy --strict
finds nothing in the package. pyproject.toml has their rules. Arguments: root, build folder, in whose wheels/ the two
may be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tree

FOLDERS = ["python", "tests/python", "examples/python"]


def find_program(name, build):
    beside = build / "wheels/bin" / name if build else None
    program = str(beside) if beside and os.access(beside, os.X_OK) else shutil.which(name)
    if not program:
        raise tree.Skip(f"no {name}")
    return program


def problems_of(root, *command):
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    return [] if run.returncode == 0 else (run.stdout + run.stderr).splitlines()


def check_ruff(root, build=None):
    program = find_program("ruff", build)
    folders = [folder for folder in FOLDERS if (root / folder).is_dir()]
    return problems_of(root, program, "check", "--no-cache", "--output-format=concise", *folders) + problems_of(
        root, program, "format", "--no-cache", "--check", *folders
    )


def check_mypy(root, build=None):
    return problems_of(root, find_program("mypy", build), f"--cache-dir={os.devnull}")


def check(root, build):
    return check_ruff(root, build) + check_mypy(root, build)


if __name__ == "__main__":
    tree.run(check, tree.root_argument(), Path(sys.argv[2]).resolve())
