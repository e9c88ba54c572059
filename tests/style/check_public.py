# SPDX-License-Identifier: Apache-2.0
"""The public header is the manual: every call says its Thread-safety (or its object's type does) and, if it can
fail, what it Returns; its numbers never change; its ABI major is meson.build's; every status stands in docs/errors.md,
every configuration field in docs/parameters.md, every environment variable in docs/api-conventions.md."""

import re

import tree

# Numbers that programs were compiled against. A released name is never renumbered and never removed: add below.
NUMBERS = {
    "SWA_JIT_OK": 0,
    "SWA_JIT_INVALID": 1,
    "SWA_JIT_UNSUPPORTED": 2,
    "SWA_JIT_NEWER": 3,
    "SWA_JIT_OUT_OF_MEMORY": 4,
    "SWA_JIT_NO_DRIVER": 5,
    "SWA_JIT_NO_DEVICE": 6,
    "SWA_JIT_WRONG_DEVICE": 7,
    "SWA_JIT_NO_COMPILER": 8,
    "SWA_JIT_COMPILE_FAILED": 9,
    "SWA_JIT_CUDA_ERROR": 10,
    "SWA_JIT_STORE_ERROR": 11,
    "SWA_JIT_LOG_DEFAULT": 0,
    "SWA_JIT_LOG_ERROR": 1,
    "SWA_JIT_LOG_WARN": 2,
    "SWA_JIT_LOG_INFO": 3,
    "SWA_JIT_LOG_DEBUG": 4,
    "SWA_JIT_FLAG_NO_COMPILE": 1,
    "SWA_JIT_FLAG_READ_ONLY": 2,
    "SWA_JIT_FLAG_SAME_COMPILER": 4,
    "SWA_JIT_FLAG_NO_STORE": 8,
    "SWA_JIT_FLAG_FOREIGN_OWNER": 16,
    "SWA_JIT_FLAG_GROUP_SHARED": 32,
    "SWA_JIT_FLAG_ALL_READ": 64,
    "SWA_JIT_FLAG_KEEP_PTX": 128,
    "SWA_JIT_FLAG_USE_PTX": 256,
    "SWA_JIT_FLAG_NO_CREATE": 512,
    "SWA_JIT_ARCH_NATIVE": 0,
    "SWA_JIT_ARCH_SM_80": 80,
    "SWA_JIT_ARCH_SM_89": 89,
    "SWA_JIT_ARCH_SM_90A": 90,
    "SWA_JIT_ARCH_SM_100A": 100,
    "SWA_JIT_ARCH_SM_103A": 103,
    "SWA_JIT_ARCH_SM_120A": 120,
    "SWA_JIT_KV_E4M3_SLOT": 0,
    "SWA_JIT_KV_E4M3": 1,
    "SWA_JIT_KV_BF16": 2,
    "SWA_JIT_KV_FOOTER_584": 3,
    "SWA_JIT_KV_FOOTER_528": 4,
    "SWA_JIT_KERNEL_DECODE": 0,
    "SWA_JIT_KERNEL_MERGE": 1,
    "SWA_JIT_LSE_BASE_2": 1,
    "SWA_JIT_LSE_WITH_SINK": 2,
    "SWA_JIT_LSE_EMPTY_PLUS_INFINITY": 4,
    "SWA_JIT_DECODE_DEPENDENT": 1,
    "SWA_JIT_INT32": 0,
    "SWA_JIT_INT64": 1,
    "SWA_JIT_FLOAT32": 0,
    "SWA_JIT_BFLOAT16": 1,
    "SWA_JIT_ENTRY_USABLE": 0,
    "SWA_JIT_ENTRY_BAD": 1,
    "SWA_JIT_ENTRY_UNREADABLE": 2,
    "SWA_JIT_ENTRY_SET_ASIDE": 3,
    "SWA_JIT_ENTRY_TEMPORARY": 4,
    "SWA_JIT_ENTRY_FAILED": 5,
    "SWA_JIT_EACH_VERIFY": 1,
    "SWA_JIT_EACH_SET_ASIDE": 2,
    "SWA_JIT_EACH_CURRENT": 4,
    "SWA_JIT_STORE_OPEN": 0,
    "SWA_JIT_STORE_NONE": 1,
    "SWA_JIT_STORE_MISSING": 2,
    "SWA_JIT_STORE_REFUSED": 3,
    "SWA_JIT_ORIGIN_NONE": 0,
    "SWA_JIT_ORIGIN_STORE": 1,
    "SWA_JIT_ORIGIN_COMPILED": 2,
}
DECLARATION = re.compile(r"((?:^/\*(?:[^*]|\*(?!/))*\*/\n)?)((?:^SWA_JIT_API[^;]*;\n)+)", re.M)


def check_numbers(header):
    given = {
        name: int(value)
        for name, value in re.findall(r"\b(SWA_JIT_[A-Z0-9_]+)\s*=\s*(\d+)u?\b", tree.code_only(header))
    }
    problems = [
        f"swa_jit.h: {name} is {given.get(name, 'gone')}; released as {value}"
        for name, value in NUMBERS.items()
        if given.get(name) != value
    ]
    return problems + [
        f"swa_jit.h: {name} = {value} is not in the list of released numbers (tests/style/check_public.py)"
        for name, value in given.items()
        if name not in NUMBERS
    ]


def check_comments(header):
    """A comment stands for all the declarations directly below it; an opaque type's may give the thread rule."""
    problems = []
    documented = 0
    for comment, declarations in DECLARATION.findall(header):
        for returns, name in re.findall(r"^SWA_JIT_API\s+([^;(]*?)\b(swa_jit_\w+)\s*\(", declarations, re.M):
            documented += 1
            if not comment:
                problems.append(f"swa_jit.h: {name} has no comment")
                continue
            if "swa_jit_status" in returns and "Returns:" not in comment:
                problems.append(f'swa_jit.h: {name}: no "Returns:" in its comment')
            if (
                "Thread-safety:" not in comment
                and "swa_jit_lib *lib" not in declarations
                and "const swa_jit_kernel *kernel" not in declarations
            ):
                problems.append(f'swa_jit.h: {name}: no "Thread-safety:" in its comment')
    total = len(re.findall(r"^SWA_JIT_API\b", header, re.M))
    if documented != total:
        problems.append(
            f"swa_jit.h: {total} declarations, {documented} understood: begin each with SWA_JIT_API in column 1"
        )
    return problems


def rows(text):
    """First cells of a Markdown page's tables, code marks removed."""
    return set(re.findall(r"^\|\s*`([^`|]+)`\s*\|", text, re.M))


def check_pages(root, header):
    problems = []
    status = re.search(r"typedef enum swa_jit_status \{(.*?)\}", header, re.S).group(1)
    config = re.search(r"typedef struct swa_jit_config \{(.*?)\}", header, re.S).group(1)
    wanted = {
        "docs/errors.md": re.findall(r"\b(SWA_JIT_[A-Z_]+)\s*=", status),
        "docs/parameters.md": [name for name in re.findall(r"\buint32_t (\w+);", config) if name != "size"],
    }
    for page, names in wanted.items():
        if not (root / page).exists():
            problems.append(f"{page} is missing")
            continue
        there = rows(tree.text_of(root / page))
        problems += [f"{page}: no row for {name}" for name in names if name not in there]
        if page == "docs/errors.md":
            problems += [
                f"{page}: {name} is no status of swa_jit.h"
                for name in sorted(there)
                if name.startswith("SWA_JIT_") and name not in names and name in NUMBERS
            ]
    return problems


def check_environment(root):
    variables = set(
        re.findall(r'"(SWA_JIT_[A-Z_]+|XDG_[A-Z_]+|HOME|VIRTUAL_ENV)"', tree.text_of(root / "src/options.c"))
    )
    page = tree.text_of(root / "docs/api-conventions.md")
    problems = [] if variables else ["src/options.c: no environment variable found; the check has lost its way"]
    return problems + [
        f"docs/api-conventions.md: the environment variable {name} is missing"
        for name in sorted(variables)
        if not re.search(rf"\b{name}\b", page)
    ]


def check_version(root):
    major = re.search(r"#define SWA_JIT_ABI_MAJOR (\d+)", tree.text_of(root / "include/swa_jit/version.h.in"))
    meson = re.search(r"^abi_major = '(\d+)'", tree.text_of(root / "meson.build"), re.M)
    if not major or not meson or major.group(1) != meson.group(1):
        return ["SWA_JIT_ABI_MAJOR of version.h.in and abi_major of meson.build differ"]
    return []


def check(root):
    header = tree.text_of(root / "include/swa_jit/swa_jit.h")
    return (
        check_numbers(header)
        + check_comments(header)
        + check_pages(root, header)
        + check_environment(root)
        + check_version(root)
    )


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
