# SPDX-License-Identifier: Apache-2.0
"""A store of the run's own, and the devices that play a GPU."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SWA_JIT_LIBRARY") or ROOT / "build")
EMULATOR = BUILD / "tests/emulator/lib/libcuda-emulator.so"
FAKE = BUILD / "tests/cli/libfake-libcuda.so"  # whose kernels are the C reference
RECORDING = BUILD / "tests/support/recording_cuda/libcuda-recording.so"  # which runs nothing

sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    for name in ("SWA_JIT_CUDA", "SWA_JIT_USE_PTX", "SWA_JIT_CPU", "SWA_JIT_NO_COMPILE", "SWA_JIT_READ_ONLY"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session", autouse=True)
def store(tmp_path_factory):
    """Every library object of the run writes here."""
    folder = tmp_path_factory.mktemp("store")
    os.environ["SWA_JIT_CACHE_DIR"] = str(folder)
    return folder


def software_device(path, **options):
    import swa_jit

    if not path.is_file():
        pytest.skip(f"{path.name} is not built")
    library = swa_jit.Library(cuda_path=path, **options)
    try:
        library.cubin(swa_jit.Config(arch="sm_90a", kernel="merge"))
    except swa_jit.NoCompilerError as error:
        pytest.skip(f"no NVRTC: {error}")
    return library


@pytest.fixture(scope="session")
def fake(store):
    """A library object whose device runs the C reference."""
    return software_device(FAKE)


@pytest.fixture(scope="session")
def emulator(store):
    """A library object whose device runs the kernels' PTX on the CPU."""
    return software_device(EMULATOR, use_ptx=True)
