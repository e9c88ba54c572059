# SPDX-License-Identifier: Apache-2.0
"""What a bug report needs, on one screen."""

from __future__ import annotations

import dataclasses
import os
import platform
import sys
from importlib import metadata

from . import _driver, _find, _library, _native
from ._config import Config
from ._errors import Error, LibraryNotFoundError

_FRAMEWORKS = ("torch", "cupy-cuda13x", "cupy-cuda12x", "jax", "numpy", "vllm")
_VARIABLES = "SWA_JIT_"


def info() -> str:
    """Versions, paths, devices, the store's layers, and the statistics of this process's library object: one screen.
    Nothing is compiled, and no framework is imported."""
    rows: list[tuple[str, str]] = [("python", f"{platform.python_version()}, {sys.executable}")]
    try:
        lib = _native.native()
    except LibraryNotFoundError as error:
        return _table([*rows, ("libswajit", str(error))])
    rows.append(("libswajit", f"{lib.version}, {lib.path}"))
    rows.append(("frameworks", ", ".join(_frameworks()) or "none"))
    rows += _machine()
    rows.append(("NVRTC", _nvrtc()))
    for name in ("swa-jit-warm", "swa-jit-run", "swa-jit-bench"):
        rows.append((name, _find.tool_path(name) or "not found"))
    rows += _store()
    chosen = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLES)]
    rows.append(("environment", " ".join(chosen) or "no SWA_JIT_ variable is set"))
    library = _library._default
    rows.append(("statistics", "no library object was opened by a call yet" if library is None else _counters(library)))
    return _table(rows)


def _table(rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _text in rows)
    return "\n".join(f"{name:{width}}  {text}" for name, text in rows)


def _frameworks() -> list[str]:
    found = []
    for name in _FRAMEWORKS:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found


def _machine() -> list[tuple[str, str]]:
    path = os.environ.get("SWA_JIT_CUDA") or None
    rows = [("machine", f"{platform.machine()}, {platform.system()} {platform.release()}, {_c_library()}")]
    count = _driver.count_devices(path)
    if count == 0:
        return [*rows, ("devices", f"none ({path or 'libcuda.so.1'}): CPU tensors run on the CPU")]
    driver = _driver.driver(path)
    names = [f"{i}: {driver.name(i)}, {driver.multiprocessors(i)} multiprocessors" for i in range(count)]
    shown = "; ".join(names[:4]) + (f"; and {count - 4} more" if count > 4 else "")
    rows.append(("driver", f"CUDA {driver.version()}, {driver.path}"))
    return [*rows, ("devices", shown), ("kernel", _probe())]


def _c_library() -> str:
    return " ".join(part for part in platform.libc_ver() if part) or "unknown C library"


def _nvrtc() -> str:
    named = os.environ.get("SWA_JIT_NVRTC")
    if named:
        return f"{named} (SWA_JIT_NVRTC)"
    loaded = _find.loaded_nvrtc()
    if loaded:
        return f"{loaded} (loaded in this process)"
    wheel = _find.wheel_nvrtc()
    return f"{wheel} (a wheel's; loaded when it is needed)" if wheel else "where the C library finds one"


def _store() -> list[tuple[str, str]]:
    home = os.environ.get("XDG_CACHE_HOME") or (os.path.expanduser("~/.cache") if os.environ.get("HOME") else "")
    written = os.environ.get("SWA_JIT_CACHE_DIR") or (os.path.join(home, "swa-jit") if home else "")
    layers = [each for each in os.environ.get("SWA_JIT_CACHE_PATH", "").split(":") if each]
    rows = [("store", _folder(written) if written else "none: no HOME and no SWA_JIT_CACHE_DIR")]
    return rows + [(f"layer {i}", _folder(layer)) for i, layer in enumerate(layers, 1)]


def _folder(path: str) -> str:
    try:
        with os.scandir(path) as entries:
            sizes = [entry.stat().st_size for entry in entries if entry.name.startswith("swa_")]
    except OSError as error:
        return f"{path}: {error.strerror}"
    return f"{path}: {len(sizes)} entries, {sum(sizes) / 2**20:.1f} MiB"


def _counters(library: _library.Library) -> str:
    try:
        stats = library.stats()
    except Error as error:
        return str(error)
    counted = {field.name: getattr(stats, field.name) for field in dataclasses.fields(stats)}
    return " ".join(f"{name}={value}" for name, value in counted.items() if value) or "all counters are 0"


def _probe() -> str:
    """Whether the kernel of one token could be had here now."""
    try:
        with _library.Library(log_level="error") as library:
            arch = library.arch_native()
            held = library.store_has(Config(arch=arch).pick(1, 128))
    except Error as error:
        return str(error).split("\n")[0]
    return f"{arch}; its default for one token is {'in the store' if held else 'compiled at first use'}"
