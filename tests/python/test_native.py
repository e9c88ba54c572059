# SPDX-License-Identifier: Apache-2.0
"""The structs of _native.py against the header, by a C program; and what a wrong library gets."""

import ctypes
import os
import re
import shutil
import subprocess

import pytest

import swa_jit
from conftest import BUILD, ROOT
from swa_jit import _native

HEADER = ROOT / "include/swa_jit/swa_jit.h"


def c_layout(tmp_path):
    """{struct: (size, {field: (offset, size)})} as a C compiler has it, of the fields that the header names."""
    compiler = os.environ.get("CC", "cc").split()
    if shutil.which(compiler[-1]) is None:
        pytest.skip("no C compiler")
    text = HEADER.read_text(encoding="utf-8")
    lines = ['#include <stddef.h>\n#include <stdio.h>\n#include "swa_jit/swa_jit.h"\nint main(void) {\n']
    for name in _native.STRUCTS:
        body = re.search(rf"typedef struct {name} \{{(.*?)\n\}} {name};", text, re.S).group(1)
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        fields = re.findall(r"(\w+)(?:\[\d+\])?;", body)
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));\n')
        for field in fields:
            lines.append(
                f'printf("{name} {field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));\n'
            )
    lines.append("return 0; }\n")
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text("".join(lines), encoding="utf-8")
    include = [f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}"]
    subprocess.run([*compiler, *include, str(source), "-o", str(program)], check=True)
    found = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 2:
            found[words[0]] = (int(words[1]), {})
        else:
            found[words[0]][1][words[1]] = (int(words[2]), int(words[3]))
    return found


def test_structs_are_those_of_the_header(tmp_path):
    layout = c_layout(tmp_path)
    assert set(layout) == set(_native.STRUCTS)
    for name, struct in _native.STRUCTS.items():
        size, fields = layout[name]
        assert ctypes.sizeof(struct) == size, name
        mirrored = {
            field: (getattr(struct, field).offset, getattr(struct, field).size) for field, _type in struct._fields_
        }
        assert mirrored == fields, name


def test_functions_are_declared_in_the_header():
    text = HEADER.read_text(encoding="utf-8")
    for name in _native.FUNCTIONS:
        declared = re.search(rf"SWA_JIT_API [\w \*]+?\*?{name}\(([^;]*)\);", text)
        assert declared, name
        count = 0 if declared.group(1) == "void" else declared.group(1).count(",") + 1
        assert count == len(_native.FUNCTIONS[name][1]), name


def test_statuses_are_those_of_the_header():
    part = HEADER.read_text(encoding="utf-8").split("typedef enum swa_jit_status {")[1].split("}")[0]
    declared = {name: int(number) for name, number in re.findall(r"SWA_JIT_([A-Z_]+) = (\d+)", part)}
    assert declared == {status.name: int(status) for status in swa_jit.Status}


def test_version_is_the_projects():
    project = re.search(r"version : '([\d.]+)'", (ROOT / "meson.build").read_text(encoding="utf-8")).group(1)
    assert swa_jit.version() == project
    assert tuple(int(part) for part in project.split(".")[:2]) == _native.RELEASE


@pytest.mark.parametrize("release", ["0.2.0", "1.1.7"])
def test_library_of_another_release_is_refused(tmp_path, release):
    body = "\n".join(f"void {name}(void) {{}}" for name in _native.FUNCTIONS if not name.endswith("version_text"))
    source = tmp_path / "other.c"
    source.write_text(f'{body}\nconst char *swa_jit_version_text(void) {{ return "{release}"; }}\n', encoding="utf-8")
    library = tmp_path / "libother.so"
    built = subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=False)
    if built.returncode != 0:
        pytest.skip("no C compiler")
    with pytest.raises(swa_jit.LibraryNotFoundError, match=rf"is release {release}"):
        _native.Native(str(library))


def test_library_with_other_structs_is_refused(tmp_path):
    """One whose initialiser leaves a field elsewhere."""
    body = "\n".join(
        f"void {name}(void) {{}}" for name in _native.FUNCTIONS if not name.endswith(("version_text", "init_sized"))
    )
    source = tmp_path / "other.c"
    source.write_text(
        "#include <string.h>\n"
        + body
        + '\nconst char *swa_jit_version_text(void) { return "0.1.0"; }\n'
        + "\n".join(
            f"void {name}(unsigned *p, unsigned long size) {{ memset(p, 0, size); p[0] = (unsigned)size; p[3] = 512; }}"
            for name in _native.FUNCTIONS
            if name.endswith("init_sized")
        ),
        encoding="utf-8",
    )
    library = tmp_path / "libother.so"
    built = subprocess.run(["cc", "-w", "-shared", "-fPIC", str(source), "-o", str(library)], check=False)
    if built.returncode != 0:
        pytest.skip("no C compiler")
    with pytest.raises(swa_jit.LibraryNotFoundError, match="swa_jit_config_init_sized writes 0 to arch"):
        _native.Native(str(library))


def test_missing_library_says_what_to_do(monkeypatch):
    with pytest.raises(swa_jit.LibraryNotFoundError, match="SWA_JIT_LIBRARY"):
        _native.Native("/nowhere/libswajit.so.0")
    monkeypatch.setenv("SWA_JIT_LIBRARY", "/tmp")
    with pytest.raises(swa_jit.LibraryNotFoundError, match="SWA_JIT_LIBRARY is /tmp: there is no"):
        swa_jit._find.library_path()
