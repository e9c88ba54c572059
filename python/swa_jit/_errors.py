# SPDX-License-Identifier: Apache-2.0
"""Exceptions. Each carries the C library's status and its message: the value, the limit and what to do."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """swa_jit_status: the numbers never change."""

    OK = 0
    INVALID = 1
    UNSUPPORTED = 2
    NEWER = 3
    OUT_OF_MEMORY = 4
    NO_DRIVER = 5
    NO_DEVICE = 6
    WRONG_DEVICE = 7
    NO_COMPILER = 8
    COMPILE_FAILED = 9
    CUDA_ERROR = 10
    STORE_ERROR = 11


class Error(Exception):
    """What a call of the library failed with: ``status`` and ``message``."""

    status: Status = Status.INVALID

    def __init__(self, message: str, status: Status | None = None) -> None:
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = status

    def __str__(self) -> str:
        return f"SWA_JIT_{self.status.name}: {self.message}"


class InvalidError(Error, ValueError):
    """An argument breaks a documented rule: correct the call."""

    status = Status.INVALID


class ArgumentError(InvalidError):
    """An argument is not what the call takes: ``argument``, ``expected`` and ``given`` say it."""

    def __init__(self, argument: str, expected: str, given: object) -> None:
        super().__init__(f"{argument}: expected {expected}, given {given}")
        self.argument = argument
        self.expected = expected
        self.given = str(given)

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str, str]]:
        return ArgumentError, (self.argument, self.expected, self.given)


class UnsupportedError(Error):
    """A legal value that this architecture, compiler or driver cannot serve."""

    status = Status.UNSUPPORTED


class NewerError(Error):
    """The package knows fields that the library does not."""

    status = Status.NEWER


class OutOfMemoryError(Error, MemoryError):
    """Host memory ran out."""

    status = Status.OUT_OF_MEMORY


class NoDriverError(Error):
    """There is no usable libcuda."""

    status = Status.NO_DRIVER


class NoDeviceError(Error):
    """There is no device, or none that runs the architecture."""

    status = Status.NO_DEVICE


class WrongDeviceError(Error):
    """The kernel is for another architecture than the stream's device."""

    status = Status.WRONG_DEVICE


class NoCompilerError(Error):
    """The store has no entry, and nothing here compiles one."""

    status = Status.NO_COMPILER


class CompileError(Error):
    """NVRTC refused the source."""

    status = Status.COMPILE_FAILED


class CudaError(Error):
    """A call of the driver failed."""

    status = Status.CUDA_ERROR


class StoreError(Error):
    """The cubin store cannot be used as asked."""

    status = Status.STORE_ERROR


class LibraryNotFoundError(ImportError):
    """libswajit is not there, or is of another release than this package."""


_CLASSES: dict[int, type[Error]] = {
    cls.status: cls
    for cls in (
        InvalidError,
        UnsupportedError,
        NewerError,
        OutOfMemoryError,
        NoDriverError,
        NoDeviceError,
        WrongDeviceError,
        NoCompilerError,
        CompileError,
        CudaError,
        StoreError,
    )
}


def error_of(status: int, message: str) -> Error:
    """The exception for a status that a call returned."""
    return _CLASSES.get(status, Error)(message)
