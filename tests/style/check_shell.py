# SPDX-License-Identifier: Apache-2.0
"""shellcheck is clean on the project's shell programs."""

import shutil
import subprocess

import tree


def check(root):
    program = shutil.which("shellcheck")
    if not program:
        raise tree.Skip("no shellcheck")
    scripts = [
        path
        for path in tree.files(root, ["tools", "tests", ".ci"])
        if path.suffix == ".sh"
        or (path.suffix == "" and path.read_bytes()[:20].startswith((b"#!/bin/sh", b"#!/usr/bin/env bash")))
    ]
    # Sourced with $root, which stands for the clone.
    run = subprocess.run(
        [
            program,
            "--external-sources",
            "--source-path=SCRIPTDIR",
            "--exclude=SC1091",
            "--format=gcc",
            *map(str, scripts),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    return (run.stdout + run.stderr).splitlines() if run.returncode != 0 else []


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
