# SPDX-License-Identifier: Apache-2.0
"""One word for one thing: refused synonyms in code and docs, and no postponed work in the text."""

import re

import tree

POSTPONED = r"\b(?:TODO|FIXME|XXX)\b"

# word -> the project's word. "page", "item" and "record" have other, legitimate meanings (a manual page): only the
# phrases in which they would stand for ours are refused.
REFUSED = {
    r"\bkv[ _]?pages?\b": "block",
    r"\bpage[ _](?:size|table|stride|idx|index)\b": "block",
    r"\b(?:cache|store) (?:item|record)s?\b": "entry (of the store)",
    r"\bkernel source\b": "rendered source, or template",
    r"\barch list\b": "architectures",
    r"\bcache (?:entry|entries|key)\b": "store's entry, or key",
    POSTPONED: "do it now, or file an issue",
}
ALLOWED = {"tests/style/check_words.py", "tests/style/selftest.py", "LICENSE"}
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".inc", ".in", ".py", ".sh", ".build", ".txt", ".md", ".1", ""}


def check(root):
    problems = []
    for path in tree.files(root, None, SUFFIXES):
        name = str(path.relative_to(root))
        if name in ALLOWED or "corpus" in path.parts:
            continue
        text = tree.text_of(path)
        for pattern, instead in REFUSED.items():
            flags = 0 if pattern == POSTPONED else re.I
            problems += [
                f'{name}:{tree.line_of(text, match.start())}: "{match.group(0)}": say {instead}'
                for match in re.finditer(pattern, text, flags)
            ]
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
