# SPDX-License-Identifier: Apache-2.0
"""docs/engine-reports.md is true: every report has its row, every row names tests that exist and carry its number in a
comment ("report 5", "reports 8, 9"), or says why the report cannot apply; every number in a test has a row that names
the file."""

import re

import tree

PAGE = "docs/engine-reports.md"
# A number once given is never used for another report.
NUMBERS = (
    [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 16, 17, 18, 20, 22, 24, 25, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]
    + [41, 42, 43, 45, 46, 47, 48, 49, 50, 52, 53, 54, 55, 56, 57, 58]
)  # fmt: skip
ROW = re.compile(r"^\| (\d+) \|(.*)\|$", re.M)
EXCUSE = "Cannot apply: "
MENTION = re.compile(r"\breports? (\d+(?:(?:, | and )\d+)*)", re.I)


def numbers_in(text):
    """Of the reports that a test's comments name; a comment's line may end between two of them."""
    joined = re.sub(r"\n\s*(?:\*|#|//)?\s*", " ", text)
    return {int(number) for found in MENTION.findall(joined) for number in re.findall(r"\d+", found)}


def mentions(root):
    """Of each file of tests/ but this check's, by its path."""
    found = {}
    for path in tree.files(root, ["tests"], {".c", ".h", ".cpp", ".sh", ".py"}):
        if path.parent.name != "style":
            found[str(path.relative_to(root))] = numbers_in(tree.text_of(path))
    return found


def tests_of(cell):
    """(file, name) of a cell: each name belongs to the file before it."""
    file = None
    for span in re.findall(r"`([^`]+)`", cell):
        if "/" in span:
            file = span
        else:
            yield file, span


def check_row(root, number, cells, carried):
    if len(cells) != 3 or not all(cells):
        return [f"{PAGE}: report {number}: a row has a number, a report, what went wrong and tests"]
    if not re.search(r"#\d+", cells[0]):
        return [f"{PAGE}: report {number}: no report is cited"]
    if cells[2].startswith(EXCUSE):
        return []
    named = list(tests_of(cells[2]))
    problems = [] if named else [f'{PAGE}: report {number}: neither a test nor "{EXCUSE}"']
    for file, name in named:
        if file not in carried:
            problems.append(f"{PAGE}: report {number}: {file} is no file of tests/")
        elif not re.search(rf"(?<![\w=]){re.escape(name)}(?!\w)", tree.text_of(root / file)):
            problems.append(f"{PAGE}: report {number}: {file} has no {name}")
        elif number not in carried[file]:
            problems.append(f"{PAGE}: report {number}: {file} does not carry the number")
    return problems


def check(root):
    carried = mentions(root)
    found = ROW.findall(tree.text_of(root / PAGE))
    rows = [(int(number), [cell.strip() for cell in rest.split("|")]) for number, rest in found]
    given = [number for number, _ in rows]
    counts = {number: given.count(number) for number in NUMBERS}
    problems = [f"{PAGE}: {count} rows of report {number}" for number, count in counts.items() if count != 1]
    problems += [f"{PAGE}: report {number} is none" for number in given if number not in NUMBERS]
    for number, cells in rows:
        problems += check_row(root, number, cells, carried)
    in_rows = {(number, file) for number, cells in rows for file, _ in tests_of(cells[-1])}
    problems += [
        f"{file}: report {number} has no row in {PAGE} that names this file"
        for file, numbers in carried.items()
        for number in sorted(numbers)
        if (number, file) not in in_rows
    ]
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
