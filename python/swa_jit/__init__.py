# SPDX-License-Identifier: Apache-2.0
"""swa-jit for Python: sliding-window attention decode kernels, specialised and compiled at run time.

A thin layer over the C library: ``native_swa_decode_attention`` and ``decode`` launch a step on tensors of PyTorch,
CuPy, JAX and others; ``merge`` makes one result of several; ``Library``, ``Config`` and ``Kernel`` are the C library's
objects. ``python -m swa_jit`` runs the C tools. docs/python.md is the manual.
"""

from ._config import Config
from ._decode import decode, native_swa_decode_attention
from ._errors import (
    ArgumentError,
    CompileError,
    CudaError,
    Error,
    InvalidError,
    LibraryNotFoundError,
    NewerError,
    NoCompilerError,
    NoDeviceError,
    NoDriverError,
    OutOfMemoryError,
    Status,
    StoreError,
    UnsupportedError,
    WrongDeviceError,
)
from ._info import info
from ._library import Kernel, KernelInfo, Library, Stats, default_library, set_default_library, stats, warm
from ._merge import merge

__all__ = [
    "ArgumentError",
    "CompileError",
    "Config",
    "CudaError",
    "Error",
    "InvalidError",
    "Kernel",
    "KernelInfo",
    "Library",
    "LibraryNotFoundError",
    "NewerError",
    "NoCompilerError",
    "NoDeviceError",
    "NoDriverError",
    "OutOfMemoryError",
    "Stats",
    "Status",
    "StoreError",
    "UnsupportedError",
    "WrongDeviceError",
    "decode",
    "default_library",
    "info",
    "merge",
    "native_swa_decode_attention",
    "set_default_library",
    "stats",
    "version",
    "warm",
]


def version() -> str:
    """The C library's release."""
    from . import _native

    return _native.native().version
