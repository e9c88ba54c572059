# SPDX-License-Identifier: Apache-2.0
"""check_json.py [--some] PAGE REPORT...: each report of swa-jit-warm --json has the fields that PAGE lists for its
command, with their types and no others, of a word one that PAGE names beside it; and every field of PAGE occurs in one
of the reports at least, unless --some is given. Prints what does not fit."""

import json
import pathlib
import re
import sys

SCALARS = {
    "word": lambda value: isinstance(value, str),
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0,
    "bool": lambda value: isinstance(value, bool),
}


def read_page(path):
    """{"every": {field: type}, "command list": ..., "object entry": ...}"""
    page = {}
    for section in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, body = section.split("\n", 1)
        fields = {}
        for field, form, meaning in re.findall(r"^\| `([^`]+)` \| ([^|]+?) \| (.*) \|$", body, re.M):
            words = re.findall(r"`([a-z-]+)`", meaning)
            fields[field] = re.sub(r"^word\b", "word:" + ",".join(words), form)
        if title == "Every report":
            page["every"] = fields
        for kind, names in re.findall(r"^(Command|Object)s? (.*)$", title):
            for name in re.findall(r"`([^`]+)`", names):
                page[f"{kind.lower()} {name}"] = fields
        if "All fields of `entry`" in body:
            optional = "of a missing one only" in body
            for field, form in page["object entry"].items():
                is_kept = not optional or field in ("file", "state", "configuration")
                if field == "state" and optional:
                    form += ",missing"
                fields.setdefault(field, form if is_kept else form + ", optional")
    return page


class Check:
    def __init__(self, page):
        self.page = page
        self.seen = set()
        self.problems = []

    def check_value(self, where, form, value):
        form = form.removesuffix(", optional")
        if form.endswith(" or null"):
            form = form.removesuffix(" or null")
            if value is None:
                return
        form, _, words = form.partition(":")
        if form in SCALARS:
            if form == "word" and value not in words.split(","):
                self.problems.append(f"{where} is {value!r}, not one of {words}")
            if not SCALARS[form](value):
                self.problems.append(f"{where} is {value!r}, not a {form}")
        elif form.startswith("list of ") and isinstance(value, list):
            for each in value:
                self.check_object(where, "object " + form.removeprefix("list of "), each)
        elif form.startswith("object "):
            self.check_object(where, form, value)
        else:
            self.problems.append(f"{where} is {value!r}, not a {form}")

    def check_object(self, where, name, value, more=None):
        fields = {**self.page[name], **(more or {})}
        if not isinstance(value, dict):
            self.problems.append(f"{where} is {value!r}, not an object")
            return
        for field, form in fields.items():
            if field in value:
                self.seen.add((name, field))
                self.check_value(f"{where}.{field}", form, value[field])
            elif not form.endswith(", optional"):
                self.problems.append(f"{where}.{field} is missing")
        self.problems += [f"{where}.{field} is not in the page" for field in value if field not in fields]

    def check_report(self, path):
        report = json.loads(path.read_text(encoding="utf-8"))
        self.check_object(f"{path.name}: report", f"command {report['command']}", report, self.page["every"])
        if report["schema"] != 1:
            self.problems.append(f"{path.name}: schema {report['schema']} is not the page's")

    def check_page_is_used(self):
        self.problems += [
            f"the page's field {field} of {name} is in no report"
            for name, fields in self.page.items()
            for field in fields
            if name != "every" and (name, field) not in self.seen
        ]


def main():
    has_some = sys.argv[1] == "--some"
    page, *reports = map(pathlib.Path, sys.argv[2 if has_some else 1 :])
    check = Check(read_page(page))
    for report in reports:
        check.check_report(report)
    if not has_some:
        check.check_page_is_used()
    print("\n".join(check.problems) if check.problems else f"{len(reports)} reports are as the page says")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
