# SPDX-License-Identifier: Apache-2.0
"""The #include edges of src/ keep to the table in docs/architecture.md ("| file | may include |"); tools use the public
header, never src/; a part of the kernel includes only parts that are rendered before it."""

import os
import re

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.M)
ROW = re.compile(r"^\| `(\w+)`[^|]*\|([^|]*)\|", re.M)


def tiers(root):
    """file -> the set of files it may include, from the architecture page."""
    text = tree.text_of(root / "docs/architecture.md")
    section = re.search(r"^## Who may include whom\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    allowed = {}
    for name, cell in ROW.findall(section.group(1) if section else ""):
        cell, _, excluded = cell.partition(" but ")
        names = set(re.findall(r"`(\w+)`", cell))
        if "everything above" in cell:
            names |= set(allowed) | allowed["ground"]
        if "ground" in cell:
            names |= allowed["ground"]
        allowed[name] = names - set(re.findall(r"`(\w+)`", excluded))
    return allowed


def check_stages(root, problems):
    allowed = tiers(root)
    if "ground" not in allowed:
        problems.append('docs/architecture.md: no table under "Who may include whom" with a `ground` row')
        return
    ground = allowed["ground"]
    for path in tree.files(root, ["src"], tree.HOST_SUFFIXES):
        name = path.relative_to(root)
        stage = path.stem
        may = allowed.get(stage, ground if stage in ground else None)
        if may is None:
            problems.append(f"{name}: {stage} has no row in docs/architecture.md")
            continue
        text = tree.text_of(path)
        for match in INCLUDE.finditer(text):
            where = f"{name}:{tree.line_of(text, match.start())}"
            target = match.group(2)
            if match.group(1) == "<":
                if target.startswith(("cuda", "nvrtc")):
                    problems.append(f"{where}: {target}: the vendor's headers are not used")
                continue
            if target.startswith("swa_jit/") or target.endswith(".inc"):
                continue
            other = target.rsplit("/", 1)[-1].rsplit(".", 1)[0]
            if other != stage and other not in may:
                problems.append(f"{where}: {stage} may not include {target} (docs/architecture.md)")


def check_tools(root, problems):
    stages = {path.name for path in tree.files(root, ["src"], {".h"})}
    for path in tree.files(root, ["tools"], tree.HOST_SUFFIXES):
        text = tree.text_of(path)
        own = {other.name for other in tree.files(root, ["tools", "tests/reference"], {".h"})}
        for match in INCLUDE.finditer(text):
            base = match.group(2).rsplit("/", 1)[-1]
            if match.group(1) == '"' and base in stages and base not in own:
                problems.append(
                    f"{path.relative_to(root)}:{tree.line_of(text, match.start())}: "
                    f"{match.group(2)}: the tools use the public header only"
                )


def check_templates(root, problems):
    folder = root / "kernel_templates"
    listed = re.search(r"^template_parts = files\((.*?)\)", tree.text_of(folder / "meson.build"), re.M | re.S)
    order = re.findall(r"'([^']+)'", listed.group(1)) if listed else []
    for path in tree.files(root, ["kernel_templates"], tree.DEVICE_SUFFIXES | {".h"}):
        name = str(path.relative_to(folder))
        if name not in order:
            problems.append(f"kernel_templates/{name} is not among the parts of kernel_templates/meson.build")
            continue
        text = tree.text_of(path)
        for match in INCLUDE.finditer(text):
            used = os.path.normpath(os.path.join(os.path.dirname(name), match.group(2)))
            if match.group(1) == "<" or used not in order[: order.index(name)]:
                problems.append(
                    f"kernel_templates/{name}:{tree.line_of(text, match.start())}: {match.group(2)} is no part that is "
                    "rendered before it"
                )


def check(root):
    problems = []
    check_stages(root, problems)
    check_tools(root, problems)
    check_templates(root, problems)
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
