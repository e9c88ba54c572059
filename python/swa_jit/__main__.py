# SPDX-License-Identifier: Apache-2.0
"""python -m swa_jit COMMAND: the C tools by short names, and what a bug report needs."""

from __future__ import annotations

import os
import sys

from . import _find, _info

# command: (tool, its first arguments, what it does)
_COMMANDS = {
    "warm": ("swa-jit-warm", [], "compile kernels into the store ahead of time"),
    "list": ("swa-jit-warm", ["--list"], "list the store"),
    "verify": ("swa-jit-warm", ["--verify"], "check every byte of the store"),
    "bench": ("swa-jit-bench", [], "measure the kernels on this device"),
    "run": ("swa-jit-run", [], "one checked decode step"),
}


def _usage() -> str:
    lines = ["usage: python -m swa_jit COMMAND [ARGUMENT...]", ""]
    lines += [f"  {name:8}{text} ({tool})" for name, (tool, _first, text) in _COMMANDS.items()]
    lines += ["  info    versions, paths, device, store and statistics, for a bug report", ""]
    lines.append("Each takes the tool's own arguments: python -m swa_jit warm --help")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Runs a command; exit code of the tool, or 2 for a wrong command."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_usage())
        return 0 if arguments else 2
    command, rest = arguments[0], arguments[1:]
    if command == "info":
        if rest:
            print(f"python -m swa_jit info takes no arguments, given {rest[0]}", file=sys.stderr)
            return 2
        print(_info.info())
        return 0
    if command not in _COMMANDS:
        print(f"{command} is no command: use {', '.join(_COMMANDS)} or info", file=sys.stderr)
        return 2
    tool, first, _text = _COMMANDS[command]
    path = _find.tool_path(tool)
    if path is None:
        print(f"{tool} is not found: install the wheel, or build the sources with -Dtools=true", file=sys.stderr)
        return 1
    if not os.environ.get("SWA_JIT_NVRTC"):
        wheel = _find.wheel_nvrtc()
        if wheel is not None:
            os.environ["SWA_JIT_NVRTC"] = wheel
    sys.stdout.flush()
    os.execv(path, [path, *first, *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
