# SPDX-License-Identifier: Apache-2.0
"""The wheel, built and installed into a virtual environment of its own: it brings the library, the tools and the entry
point, is for any Python 3, and works without the sources."""

import json
import os
import subprocess
import sys
import zipfile

from conftest import ROOT


def test_wheel_is_built_and_works_alone(tmp_path):
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-q"]
    environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "-w", str(tmp_path), str(ROOT)], check=True, env=environment
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert "-py3-none-linux_" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    modules = {path.name for path in (ROOT / "python/swa_jit").glob("*.py")}
    assert modules == {os.path.basename(name) for name in names if "/swa_jit/" in name and name.endswith(".py")}
    for wanted in ("lib/libswajit.so.0", "lib/libcuda-emulator.so", "py.typed", "scripts/swa-jit-warm"):
        assert any(name.endswith(wanted) for name in names), wanted
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", str(wheel)], check=True)
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SWA_JIT_LIBRARY")}
    program = """
import json, swa_jit
from importlib.metadata import entry_points
from swa_jit import _find, _native
(plugin,) = [each for each in entry_points(group="vllm.general_plugins") if each.name == "swa_jit"]
plugin.load()()
print(json.dumps([swa_jit.version(), _native.native().path, _find.tool_path("swa-jit-warm"), _find.emulator_path()]))
"""
    told = subprocess.run(
        [python, "-c", program], check=True, capture_output=True, text=True, env=clean, cwd=tmp_path
    ).stdout
    version, *paths = json.loads(told)
    assert version in wheel.name and all(path.startswith(str(tmp_path / "env")) for path in paths)
    listed = subprocess.run(
        [python, "-m", "swa_jit", "warm", "--help"], check=True, capture_output=True, text=True, env=clean, cwd=tmp_path
    )
    assert "--preset" in listed.stdout
