# SPDX-License-Identifier: Apache-2.0
"""Plants a fault for each style check in a copy of the tree and demands that the check names it. A check whose tool is
missing is left out and said so."""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import check_format
import check_headers
import check_includes
import check_public
import check_python
import check_readme
import check_shell
import check_sizes
import check_registered
import check_reports
import check_source
import check_symbols
import check_words
import tree


class Fault:
    """A file as it should not be."""

    def __init__(self, file, change):
        self.file = file
        self.change = change

    def plant(self, root):
        path = root / self.file
        text = tree.text_of(path) if path.exists() else ""
        path.write_text(self.change(text), encoding="utf-8")

    def heal(self, root, origin):
        if (origin / self.file).exists():
            shutil.copy(origin / self.file, root / self.file)
        else:
            (root / self.file).unlink()


def append(file, text):
    return Fault(file, lambda before: before + text)


def replace(file, old, new):
    def change(before):
        assert old in before, f"{file}: {old!r} is not there to be replaced"
        return before.replace(old, new)

    return Fault(file, change)


def create(file, text):
    return Fault(file, lambda before: text)


def check_headers_alone(root):
    """With a version.h as the build would write it, and whatever C compiler there is."""
    compiler = shutil.which("cc")
    if not compiler:
        raise tree.Skip("no C compiler")
    version = root / "generated/swa_jit/version.h"
    version.parent.mkdir(parents=True)
    text = re.sub(r"@VERSION_[A-Z]+@", "0", tree.text_of(root / "include/swa_jit/version.h.in"))
    version.write_text(text, encoding="utf-8")
    return check_headers.check(root, root / "generated", "c11", compiler)


LONG_FUNCTION = "\nint bad(int x)\n{\n" + "  x++;\n" * 100 + "  return x;\n}\n"
LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"
HEADER = "include/swa_jit/swa_jit.h"

# check, fault, what the check must say
FAULTS = [
    (check_sizes.check, append("src/digest.c", "\n" * 600), "src/digest.c: 6"),
    (check_sizes.check, append("include/swa_jit/swa_jit.h", "\n" * 700), "; at most 700"),
    (check_sizes.check, append("src/digest.c", "/*" + "x" * 120 + "*/\n"), "characters; at most 120"),
    (check_sizes.check, append("src/digest.c", LONG_FUNCTION), "bad has 104 lines; at most 100"),
    (
        check_sizes.check,
        append(
            "kernel_templates/plan.cuh", "namespace swa\n{" + LONG_FUNCTION.replace("  x++;\n", "  x++;\n" * 2) + "}\n"
        ),
        "bad has 204 lines; at most 150",
    ),
    (
        check_source.check,
        append("src/digest.c", 'int bad(void)\n{\n  return getenv("HOME") != 0;\n}\n'),
        "getenv: reading the env",
    ),
    (check_source.check, append("src/digest.c", 'void bad(void)\n{\n  printf("x");\n}\n'), "printf: printing"),
    (check_source.check, append("src/digest.c", "void bad(void)\n{\n  assert(0);\n}\n"), "assert: ending the process"),
    (check_source.check, create("src/new.c", "int x;\n"), "src/new.c:1: the first line is not"),
    (check_registered.check, create("tests/unit/test_new.c", LICENCE), "tests/unit/test_new.c: no meson.build"),
    (check_registered.check, create("tests/cli/swa-jit-run/new.sh", ""), "does not name this case"),
    (check_registered.check, create("src/new.c", LICENCE), "src/new.c: there is no tests/unit/test_new.c"),
    (check_registered.check, replace("src/meson.build", "'digest'", "'key'"), "src/meson.build does not name it"),
    (check_reports.check, replace(check_reports.PAGE, "| 55 |", "| 54 |"), "0 rows of report 55"),
    (check_reports.check, append(check_reports.PAGE, "\n| 60 | x #1 | y | Cannot apply: z |\n"), "report 60 is none"),
    (
        check_reports.check,
        replace(check_reports.PAGE, "FlashInfer PR #4461", "FlashInfer"),
        "report 12: no report is cited",
    ),
    (
        check_reports.check,
        replace(check_reports.PAGE, "`tests/gpu/launches.c`: `captured_at_1_replayed_at_128_and_0`", "nothing"),
        "report 55: neither a test nor",
    ),
    (check_reports.check, replace(check_reports.PAGE, "/test_key.c", "/test_kex.c"), "test_kex.c is no file of tests/"),
    (check_reports.check, replace(check_reports.PAGE, "`seed=117`", "`seed=11`"), "grid_special.c has no seed=11"),
    (
        check_reports.check,
        replace("tests/gpu/launches.c", "Report 55: a plan", "A plan"),
        "report 55: tests/gpu/launches.c does not carry the number",
    ),
    (
        check_reports.check,
        append("tests/unit/test_text.c", "/* Reports 5 and 8. */\n"),
        "tests/unit/test_text.c: report 8 has no row in docs/engine-reports.md that names this file",
    ),
    (check_words.check, append("README.md", "The kernel source is rendered.\n"), '"kernel source": say'),
    (check_words.check, append("src/digest.c", "/* TODO: finish */\n"), '"TODO": say'),
    (check_includes.check, append("src/digest.c", '#include "store.h"\n'), "digest may not include store.h"),
    (check_includes.check, append("src/lib.h", '#include "launch.h"\n'), "lib may not include launch.h"),
    (check_includes.check, create("src/build.c", LICENCE + '#include "pick.h"\n'), "build may not include pick.h"),
    (check_includes.check, append("src/key.c", '#include "cuda_api.h"\n'), "key may not include cuda_api.h"),
    (check_includes.check, append("src/digest.c", "#include <cuda.h>\n"), "vendor's headers are not used"),
    (check_includes.check, create("src/new.c", LICENCE), "new has no row in docs/architecture.md"),
    (
        check_includes.check,
        create("tools/common/bad.c", LICENCE + '#include "store.h"\n'),
        "the tools use the public header only",
    ),
    (
        check_includes.check,
        append("kernel_templates/plan.cuh", '#include "gather.cuh"\n'),
        "gather.cuh is no part that is rendered before it",
    ),
    (
        check_public.check,
        replace(HEADER, "SWA_JIT_NEWER = 3", "SWA_JIT_NEWER = 30"),
        "SWA_JIT_NEWER is 30; released as 3",
    ),
    (
        check_public.check,
        replace(HEADER, "SWA_JIT_STORE_ERROR = 11", "SWA_JIT_STORE_ERROR = 11, SWA_JIT_BAD = 12"),
        "SWA_JIT_BAD = 12 is not in the list",
    ),
    (
        check_public.check,
        replace(
            HEADER,
            " * Returns: OK; INVALID; NEWER. Thread-safety: any thread. */\nSWA_JIT_API swa_jit_status "
            "swa_jit_stats_get",
            " */\nSWA_JIT_API swa_jit_status swa_jit_stats_get",
        ),
        'swa_jit_stats_get: no "Returns:"',
    ),
    (
        check_public.check,
        replace(
            HEADER,
            "Thread-safety: any thread. */\nSWA_JIT_API const char *swa_jit_version_text",
            "*/\nSWA_JIT_API const char *swa_jit_version_text",
        ),
        'swa_jit_version_text: no "Thread-safety:"',
    ),
    (
        check_public.check,
        replace("docs/errors.md", "| `SWA_JIT_NEWER`", "| `SWA_JIT_OTHER`"),
        "docs/errors.md: no row for SWA_JIT_NEWER",
    ),
    (
        check_public.check,
        replace("docs/parameters.md", "| `kv_tile`", "| `tile`"),
        "docs/parameters.md: no row for kv_tile",
    ),
    (check_public.check, replace("include/swa_jit/version.h.in", "ABI_MAJOR 0", "ABI_MAJOR 7"), "SWA_JIT_ABI_MAJOR"),
    (
        check_public.check,
        replace("docs/api-conventions.md", "`SWA_JIT_DUMP_DIR`", "`SWA_JIT_DUMP`"),
        "the environment variable SWA_JIT_DUMP_DIR is missing",
    ),
    (
        check_headers_alone,
        replace("src/digest.h", "#include <stdint.h>\n", ""),
        "src/digest.h does not compile alone",
    ),
    (check_format.check, append("src/digest.c", "int  bad( void )  {return 0;}\n"), "src/digest.c:"),
    (check_python.check_ruff, append("python/swa_jit/_find.py", "import  json\n"), "python/swa_jit/_find.py"),
    (check_python.check_mypy, append("python/swa_jit/_find.py", "\ndef untyped(a):\n    pass\n"), "no-untyped-def"),
    (check_shell.check, append("tools/run-tests", "rm $unquoted\n"), "tools/run-tests"),
    (
        lambda root: check_readme.check_text(root, tree.text_of(root / "README.md")),
        replace("README.md", "(docs/architecture.md)", "(docs/missing.md)"),
        "link to docs/missing.md",
    ),
    (
        lambda root: check_readme.check_text(root, tree.text_of(root / "README.md")),
        replace("README.md", "\ntools/quickstart\n", "\ntools/quick\n"),
        'no line "tools/quickstart"',
    ),
]


def check_pure(failures):
    """The parts of check_symbols that need no library."""
    if check_symbols.check_exports({"swa_jit_a", "swa_jit_b"}, {"swa_jit_a", "stray"}) != [
        "swa_jit_b is declared in swa_jit.h but not exported",
        "stray is exported but not declared in swa_jit.h",
    ]:
        failures.append("check_symbols.check_exports")
    if len(check_symbols.check_archive({"swa_jit_a", "sj_b", "helper"})) != 1:
        failures.append("check_symbols.check_archive")
    if check_symbols.check_writable([("b", "counter"), ("r", "table"), ("d", "_DYNAMIC")]) != [
        "writable global data: counter"
    ]:
        failures.append("check_symbols.check_writable")


def copy_tree(origin, root):
    for name in tree.FOLDERS:
        shutil.copytree(origin / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"]
    for name in [*pages, "meson.build", "pyproject.toml", ".clang-format"]:
        shutil.copy(origin / name, root / name)


def main():
    origin = tree.root_argument()
    failures = []
    check_pure(failures)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copy_tree(origin, root)
        for number, (check, fault, wanted) in enumerate(FAULTS, 1):
            fault.plant(root)
            try:
                problems = check(root)
                if not any(wanted in problem for problem in problems):
                    failures.append(f"fault {number}: no problem says {wanted!r}; said: {problems[:3]}")
            except tree.Skip as reason:
                print(f"fault {number} left out: {reason}")
            fault.heal(root, origin)
    for failure in failures:
        print(failure)
    print(f"{len(FAULTS)} planted faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
