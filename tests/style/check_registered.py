# SPDX-License-Identifier: Apache-2.0
"""Every test program and every case of a tool stands in its folder's meson.build, and every stage has its unit test: a
test that no build runs proves nothing."""

import tree


def is_named(folder, names):
    build_file = folder / "meson.build"
    return build_file.is_file() and any(f"'{each}'" in tree.text_of(build_file) for each in names)


def check(root):
    problems = []
    for path in tree.files(root, ["tests"], {".c", ".py"}):
        stem = path.stem
        if stem.startswith("test_") and not is_named(path.parent, (path.name, stem, stem[len("test_") :])):
            problems.append(f"{path.relative_to(root)}: no meson.build beside it names it, so it never runs")
    for path in tree.files(root, ["tests/cli"], {".sh"}):
        if path.parent.name.startswith("swa-jit-") and not is_named(path.parents[1], (path.stem,)):
            problems.append(f"{path.relative_to(root)}: tests/cli/meson.build does not name this case")
    for path in tree.files(root, ["src"], {".c"}):
        if not is_named(path.parent, (path.stem,)):
            problems.append(f"{path.relative_to(root)}: src/meson.build does not name it")
        if not (root / "tests/unit" / f"test_{path.stem}.c").is_file():
            problems.append(f"{path.relative_to(root)}: there is no tests/unit/test_{path.stem}.c")
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
