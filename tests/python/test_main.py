# SPDX-License-Identifier: Apache-2.0
"""python -m swa_jit, and where the package finds the library, the tools and NVRTC."""

import os
import subprocess
import sys

import pytest

import swa_jit
from conftest import EMULATOR, ROOT
from swa_jit import _find


def run(*arguments, **environment):
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "swa_jit", *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_are_the_tools():
    usage = run()
    assert usage.returncode == 2 and "warm" in usage.stdout and "info" in usage.stdout
    assert run("--help").returncode == 0
    wrong = run("compile")
    assert wrong.returncode == 2 and "compile is no command: use warm, list, verify, bench, run or info" in wrong.stderr
    if _find.tool_path("swa-jit-warm") is None:
        pytest.skip("the tools are not built")
    for command, words in [("warm", "--preset"), ("bench", "--tokens"), ("run", "--num-tokens")]:
        told = run(command, "--help")
        assert told.returncode == 0 and words in told.stdout
    missing = run("warm", "--check", "--arch", "sm_90a", "--cache-dir", "/tmp/swa-jit-test-nothing")
    assert missing.returncode == 3 and "arch=sm_90a" in missing.stdout


def test_list_and_verify_show_the_store(store):
    with swa_jit.Library() as library:
        try:
            library.cubin(swa_jit.Config(arch="sm_90a", kernel="merge"))
        except swa_jit.NoCompilerError as error:
            pytest.skip(str(error))
    listed, verified = run("list"), run("verify")
    assert listed.returncode == 0 and "kernel=merge" in listed.stdout
    assert verified.returncode == 0


def test_info_is_one_screen():
    told = run("info")
    lines = told.stdout.splitlines()
    assert told.returncode == 0 and len(lines) <= 24
    for name in (
        "python",
        "libswajit",
        "frameworks",
        "machine",
        "devices",
        "NVRTC",
        "store",
        "environment",
        "statistics",
    ):
        assert any(line.startswith(name + " ") for line in lines), name
    assert swa_jit.version() in told.stdout and os.environ["SWA_JIT_CACHE_DIR"] in told.stdout
    assert run("info", "more").returncode == 2


def test_info_tells_of_devices_layers_and_counters(tmp_path):
    if not EMULATOR.is_file():
        pytest.skip("the emulator is not built")
    told = run("info", SWA_JIT_CUDA=str(EMULATOR), SWA_JIT_CACHE_PATH=f"{tmp_path}:/nowhere")
    assert "0: Emulated H200 (sm_90a), 132 multiprocessors" in told.stdout
    assert f"layer 1        {tmp_path}: 0 entries" in told.stdout and "/nowhere: No such file" in told.stdout
    assert "kernel" in told.stdout
    before = swa_jit.set_default_library(swa_jit.Library(cache_dir=tmp_path / "own"))
    try:
        assert "statistics     all counters are 0" in swa_jit.info()
    finally:
        mine = swa_jit.set_default_library(before)
        mine.close()


def test_info_without_a_library():
    told = run("info", SWA_JIT_LIBRARY="/nowhere/libswajit.so.0")
    assert "/nowhere/libswajit.so.0 cannot be opened" in told.stdout and "SWA_JIT_LIBRARY" in told.stdout


NVRTC_PROGRAM = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
if len(sys.argv) > 2:
    ctypes.CDLL(sys.argv[2])
import swa_jit
library = swa_jit.Library(no_store=True)
library.cubin(swa_jit.Config(arch="sm_90a", kernel="merge"))
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libnvrtc.so" in line}
print(*sorted(loaded))
"""


def nvrtc_of(tmp_path, *loaded_first, wheel=None):
    """The libnvrtc files in a process that compiled, which had one loaded already or a wheel's in its path."""
    path = [str(ROOT / "python")]
    if wheel is not None:
        path.append(str(wheel))
    environment = {name: value for name, value in os.environ.items() if name not in ("SWA_JIT_NVRTC", "VIRTUAL_ENV")}
    environment["PYTHONPATH"] = os.pathsep.join(path)
    return subprocess.run(
        [sys.executable, "-S", "-c", NVRTC_PROGRAM, str(ROOT / "python"), *loaded_first],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()


@pytest.fixture
def nvrtc():
    found = os.environ.get("SWA_JIT_NVRTC") or _find.loaded_nvrtc() or _find.wheel_nvrtc()
    if found is None or not os.path.isfile(found):
        pytest.skip("no libnvrtc is known")
    return os.path.realpath(found)


def test_wheels_nvrtc_is_found_and_one_is_loaded(tmp_path, nvrtc):
    """As pip lays it, anywhere on Python's path."""
    folder = tmp_path / "site/nvidia/cu13/lib"
    folder.mkdir(parents=True)
    for name in os.listdir(os.path.dirname(nvrtc)):
        if name.startswith("libnvrtc"):
            (folder / name).symlink_to(os.path.join(os.path.dirname(nvrtc), name))
    if not (folder / "libnvrtc.so.13").exists():
        pytest.skip("the libnvrtc here is no 13")
    assert nvrtc_of(tmp_path, wheel=tmp_path / "site") == [nvrtc]


def test_loaded_nvrtc_is_taken_and_stays_the_only_one(tmp_path, nvrtc):
    other = tmp_path / "site/nvidia/cu13/lib"
    other.mkdir(parents=True)
    (other / "libnvrtc.so.13").write_bytes(b"not a library: must not be opened")
    assert nvrtc_of(tmp_path, nvrtc, wheel=tmp_path / "site") == [nvrtc]


def test_named_nvrtc_wins(monkeypatch):
    monkeypatch.setenv("SWA_JIT_NVRTC", "/nowhere/libnvrtc.so.13")
    assert _find.load_nvrtc() is None


def test_library_is_found_by_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("SWA_JIT_LIBRARY", "/some/file.so")
    assert _find.library_path() == "/some/file.so"
    (tmp_path / "src").mkdir()
    (tmp_path / "src/libswajit.so.0").touch()
    monkeypatch.setenv("SWA_JIT_LIBRARY", str(tmp_path))
    assert _find.library_path() == str(tmp_path / "src/libswajit.so.0")
