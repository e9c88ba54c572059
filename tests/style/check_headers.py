# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone with strict warnings: with c11 all of them, with c++11 the public one.
Arguments: root, folder of the generated version.h's parent, standard, compiler ("" when there is none)."""

import shlex
import subprocess
import sys
from pathlib import Path

import tree

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion"]


def compile_alone(compiler, standard, header, folders):
    language = "c++" if standard.startswith("c++") else "c"
    include = [f"-I{folder}" for folder in folders]
    run = subprocess.run(
        [
            *shlex.split(compiler),
            "-x",
            language,
            f"-std={standard}",
            "-D_GNU_SOURCE",
            *STRICT,
            *include,
            "-fsyntax-only",
            "-",
        ],
        input=f'#include "{header}"\nextern int sj_style_dummy;\n',
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stderr.strip() if run.returncode != 0 or run.stderr else ""


def check(root, generated, standard, compiler):
    if not compiler:
        raise tree.Skip(f"no compiler for {standard}")
    headers = [root / "include/swa_jit/swa_jit.h"]
    folders = [root / "include", generated]
    if not standard.startswith("c++"):
        headers += [*tree.files(root, ["src"], {".h"}), *(root / "kernel_templates").glob("*.h")]
        folders += [root / "src", root / "kernel_templates"]
    problems = []
    for header in headers:
        said = compile_alone(compiler, standard, header, folders)
        if said:
            problems.append(f"{header.relative_to(root)} does not compile alone in {standard}:\n{said}")
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument(), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
