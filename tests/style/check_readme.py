# SPDX-License-Identifier: Apache-2.0
"""The README is true: its C example has at most 30 lines, compiles without a warning and runs (where there is no
GPU it says so); its links lead somewhere; its commands name programs that exist.
Arguments: root, folder of the generated version.h's parent, C compiler, libswajit.so."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import tree

MAX_EXAMPLE_LINES = 30
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def fences(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def check_text(root, text):
    problems = []
    for command in ("tools/quickstart", "tools/run-tests"):
        if not any(re.search(rf"^{command}$", block, re.M) for block in fences(text, "sh")):
            problems.append(f'README.md: no line "{command}" in a sh block')
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target and not (root / target).exists():
            problems.append(f"README.md: link to {target}, which is not there")
    for block in fences(text, "sh"):
        for program in re.findall(r"^(?:\w+=\S+ )*((?:tools|build/tools)/\S+)", block, re.M):
            source = root / re.sub(r"^build/", "", program)
            if not source.exists() and not source.parent.is_dir():
                problems.append(f"README.md: the command {program} is not there")
    examples = fences(text, "c")
    if len(examples) != 1:
        problems.append(f"README.md: {len(examples)} C examples; the test knows one")
    elif len(examples[0].splitlines()) > MAX_EXAMPLE_LINES:
        problems.append(
            f"README.md: the example has {len(examples[0].splitlines())} lines; at most {MAX_EXAMPLE_LINES}"
        )
    return problems


def check_example(root, text, generated, compiler, library):
    """Compiles, links and runs the example with a cubin store of its own. Exit code 0, or 1 and the library's word
    that there is no driver, no device or no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "example.c"
        program = Path(folder) / "example"
        source.write_text(fences(text, "c")[0], encoding="utf-8")
        build = subprocess.run(
            [
                *shlex.split(compiler),
                *STRICT,
                f"-I{root / 'include'}",
                f"-I{generated}",
                str(source),
                "-o",
                str(program),
                str(library),
                f"-Wl,-rpath,{library.parent}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if build.returncode != 0:
            return [f"README.md: the example does not compile:\n{build.stderr}"]
        run = subprocess.run(
            [str(program)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "SWA_JIT_CACHE_DIR": str(Path(folder) / "store")},
        )
        excused = re.search(r"SWA_JIT_NO_(?:DRIVER|DEVICE|COMPILER)", run.stderr)
        if run.returncode != 0 and not (run.returncode == 1 and excused):
            return [f"README.md: the example ends with {run.returncode}:\n{run.stdout}{run.stderr}"]
    return []


def check(root, generated, compiler, library):
    text = tree.text_of(root / "README.md")
    problems = check_text(root, text)
    return problems if problems else check_example(root, text, generated, compiler, library)


if __name__ == "__main__":
    tree.run(check, tree.root_argument(), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]).resolve())
