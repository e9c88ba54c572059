# SPDX-License-Identifier: Apache-2.0
"""The shared library exports exactly the functions that swa_jit.h declares; every global of the static library begins
with swa_jit_ or sj_, so that it cannot clash inside a program that links it; and neither has writable data outside
thread-local storage. Arguments: root, libswajit.so, libswajit.a."""

import re
import shutil
import subprocess
import sys

import tree

DECLARED = re.compile(r"^SWA_JIT_API\b[^;(]*?\b(swa_jit_\w+)\s*\(", re.M)
# The compilers' and the linker's own words in the writable segments; relro tables are read-only when main starts.
RUNTIME = re.compile(r"^(?:__\w+|_\w+|completed\.\d+|DW\.ref\.\w+|__gcov\w*|\.\w+.*)$")
INSTRUMENTED = re.compile(r"__asan_|__ubsan_|__tsan_|__gcov|llvm_gcda")


def declared_functions(root):
    return set(DECLARED.findall(tree.text_of(root / "include/swa_jit/swa_jit.h")))


def output_of(program, *arguments):
    if not shutil.which(program):
        raise tree.Skip(f"no {program}")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def symbols(*arguments):
    """(type letter, name) of each symbol that nm lists."""
    lines = [line.split() for line in output_of("nm", *arguments).splitlines()]
    return [(parts[-2], parts[-1]) for parts in lines if len(parts) >= 2 and len(parts[-2]) == 1]


def check_exports(declared, exported):
    problems = [f"{name} is declared in swa_jit.h but not exported" for name in sorted(declared - exported)]
    return problems + [f"{name} is exported but not declared in swa_jit.h" for name in sorted(exported - declared)]


def check_archive(names):
    return [
        f"the static library defines {name}: its globals begin with swa_jit_ or sj_"
        for name in sorted(names)
        if not name.startswith(("swa_jit_", "sj_"))
    ]


def check_writable(found):
    """found: (letter, name) of all symbols; d, D, b, B, C are writable data that is not thread-local."""
    return [
        f"writable global data: {name}"
        for letter, name in sorted(found)
        if letter in "dDbBC" and not RUNTIME.match(name)
    ]


def harmless(shared):
    """Names that are thread-local, or in .data.rel.ro: constant tables of addresses, read-only once relocated."""
    relro = set(re.findall(r"\[\s*(\d+)\]\s+\.data\.rel\.ro\S*\s", output_of("readelf", "-SW", shared)))
    rows = [parts for line in output_of("readelf", "-sW", shared).splitlines() if len(parts := line.split()) >= 8]
    return {parts[7] for parts in rows if parts[3] == "TLS" or parts[6] in relro}


def check(root, shared, static):
    every = symbols("--no-sort", shared)
    if any(INSTRUMENTED.search(name) for _, name in every):
        raise tree.Skip("the library is instrumented (sanitizer or coverage), which adds symbols of its own")
    exported = {name for letter, name in symbols("-D", "--defined-only", shared) if letter in "TDBRVWi"}
    archive = {name for letter, name in symbols("-g", "--defined-only", static)}
    fine = harmless(shared)
    writable = [(letter, name) for letter, name in every if name not in fine]
    return check_exports(declared_functions(root), exported) + check_archive(archive) + check_writable(writable)


if __name__ == "__main__":
    tree.run(check, tree.root_argument(), sys.argv[2], sys.argv[3])
