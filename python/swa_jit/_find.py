# SPDX-License-Identifier: Apache-2.0
"""Where the shared library, the C tools and NVRTC are."""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from pathlib import Path

from ._errors import LibraryNotFoundError

SONAME = "libswajit.so.0"
# Names the library, or a build folder of the sources, whose library and tools are then used.
VARIABLE = "SWA_JIT_LIBRARY"

_PACKAGE = Path(__file__).resolve().parent
_NVRTC_SONAMES = ("libnvrtc.so.13", "libnvrtc.so.12")
_NVRTC_WHEELS = ("nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")


def build_folder() -> Path | None:
    """The build folder to use: the one that the variable names, else build/ of the sources this package lies in."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named) if os.path.isdir(named) else None
    sources = _PACKAGE.parents[1] / "build"
    return sources if (_PACKAGE.parent.name == "python" and sources.is_dir()) else None


def library_path() -> str:
    """The shared library: SWA_JIT_LIBRARY, the wheel's own, the source tree's build, else the loader's search."""
    named = os.environ.get(VARIABLE)
    if named and not os.path.isdir(named):
        return named
    candidates = []
    folder = build_folder()
    if named and folder is not None:
        candidates.append(folder / "src" / SONAME)
        candidates.append(folder / SONAME)
    else:
        candidates.append(_PACKAGE / "lib" / SONAME)
        if folder is not None:
            candidates.append(folder / "src" / SONAME)
    for path in candidates:
        if path.is_file():
            return str(path)
    if named:
        raise LibraryNotFoundError(
            f"{VARIABLE} is {named}: there is no {candidates[0]}; build it (ninja -C {named}), or name the library file"
        )
    return SONAME


def tool_path(name: str) -> str | None:
    """A C tool (swa-jit-warm, ...), from where the library came."""
    folder = build_folder()
    named = bool(os.environ.get(VARIABLE))
    # The second: where pip --target puts them.
    places = [Path(sysconfig.get_path("scripts")) / name, _PACKAGE.parent / "bin" / name]
    if folder is not None:
        places.insert(0 if named or not (_PACKAGE / "lib").is_dir() else 1, folder / "tools" / name / name)
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(entry, name)
        if entry and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def emulator_path() -> str | None:
    """The emulator of the sources' build or of the wheel, if it is there."""
    folder = build_folder()
    places = [_PACKAGE / "lib" / "libcuda-emulator.so"]
    if folder is not None:
        places.insert(0, folder / "tests" / "emulator" / "lib" / "libcuda-emulator.so")
    return next((str(place) for place in places if place.is_file()), None)


def loaded_nvrtc() -> str | None:
    """The libnvrtc that the process has loaded; nothing is loaded by asking."""
    for soname in _NVRTC_SONAMES:
        try:
            ctypes.CDLL(soname, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            continue
        return _mapped_path(soname) or soname
    return None


def wheel_nvrtc() -> str | None:
    """The libnvrtc of the wheels that PyTorch depends on, wherever Python finds packages."""
    for wheel in _NVRTC_WHEELS:
        for folder in sys.path:
            path = os.path.join(folder, wheel)
            if folder and os.path.isfile(path):
                return path
    return None


def load_nvrtc() -> str | None:
    """Makes the compiler of the wheels the process's, unless there is one or the user named one. The library takes
    a copy that is loaded, and so does PyTorch: the process has one. Called before a compile, not at import."""
    if os.environ.get("SWA_JIT_NVRTC"):
        return None
    loaded = loaded_nvrtc()
    if loaded is not None:
        return loaded
    path = wheel_nvrtc()
    if path is not None:
        try:
            ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError:
            return None
    return path


def _mapped_path(soname: str) -> str | None:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if os.path.basename(path).startswith(soname):
                    return "/" + path
    except OSError:
        pass
    return None
