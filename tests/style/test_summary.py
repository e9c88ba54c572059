# SPDX-License-Identifier: Apache-2.0
"""tools/test-summary counts what meson wrote, names what was skipped, and fails when a test failed or none passed."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import tree


def summary(root, results):
    """(exit code, lines) for a log with one test a result; None: no log."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "testlog.json"
        if results is not None:
            tests = [
                {"name": f"t{i}", "result": result, "stdout": f"\nskipped: reason {i}\n"}
                for i, result in enumerate(results)
            ]
            log.write_text("".join(json.dumps(test) + "\n" for test in tests), encoding="utf-8")
        command = [sys.executable, str(root / "tools/test-summary"), str(log)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout.splitlines()


# results in the log, exit code, lines that must be there, the last line first
CASES = [
    (["OK", "OK", "SKIP"], 0, ["2 passed, 0 failed, 1 skipped", "skipped t2: reason 2"]),
    (["OK", "FAIL", "TIMEOUT"], 1, ["1 passed, 2 failed, 0 skipped", "failed t1: fail", "failed t2: timeout"]),
    (["OK", "UNEXPECTEDPASS"], 1, ["1 passed, 1 failed, 0 skipped"]),
    (["SKIP"], 1, ["0 passed, 0 failed, 1 skipped"]),
    ([], 1, ["0 passed, 0 failed, 0 skipped"]),
    (None, 1, ["0 passed, 0 failed, 0 skipped"]),
]


def check(root):
    problems = []
    for results, exit_code, wanted in CASES:
        code, lines = summary(root, results)
        if code != exit_code or not lines or lines[-1] != wanted[0] or not set(wanted) <= set(lines):
            problems.append(f"{results}: exit code {code} (wanted {exit_code}), said {lines}")
    return problems


if __name__ == "__main__":
    tree.run(check, tree.root_argument())
