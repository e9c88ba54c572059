# SPDX-License-Identifier: Apache-2.0
"""The few driver calls that the package makes itself, where no framework makes them: contexts, addresses, and memory
for results of frameworks whose tensors cannot be written to."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from ._errors import ArgumentError, CudaError, NoDriverError

_ATTRIBUTE_MULTIPROCESSORS = 16
_POINTER_MEMORY_TYPE = 2
_POINTER_DEVICE_ORDINAL = 9
_MEMORY_DEVICE = 2
_EVENT_WITHOUT_TIME = 2
_ERROR_NOT_READY = 600

_FUNCTIONS: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxGetCurrent": [POINTER(c_void_p)],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuMemsetD8Async": [c_uint64, ctypes.c_ubyte, c_size_t, c_void_p],
    "cuStreamSynchronize": [c_void_p],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventQuery": [c_void_p],
    "cuEventDestroy_v2": [c_void_p],
    "cuStreamWaitEvent": [c_void_p, c_void_p, c_uint],
    "cuPointerGetAttribute": [c_void_p, c_int, c_uint64],
}


class Driver:
    """A libcuda, opened at run time."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._cdll = ctypes.CDLL(path)
        except OSError as error:
            raise NoDriverError(f"{path} cannot be opened: {error}") from None
        for name, arguments in _FUNCTIONS.items():
            function = getattr(self._cdll, name, None)
            if function is not None:
                function.restype = c_int
                function.argtypes = arguments
        self._contexts: dict[int, c_void_p] = {}

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function and raises unless it succeeds."""
        function = getattr(self._cdll, name, None)
        if function is None:
            raise NoDriverError(f"{self.path} lacks {name}")
        result = function(*arguments)
        if result != 0:
            raise CudaError(f"{name} failed: {self.error_name(result)} ({result})")

    def error_name(self, result: int) -> str:
        """The driver's name of a result."""
        name = c_char_p()
        self._cdll.cuGetErrorName(result, byref(name))
        return (name.value or b"unknown error").decode()

    def count(self) -> int:
        """The number of devices; 0 also where the driver does not start."""
        found = c_int()
        if self._cdll.cuInit(0) != 0 or self._cdll.cuDeviceGetCount(byref(found)) != 0:
            return 0
        return found.value

    def version(self) -> str:
        """The newest CUDA that the driver serves."""
        value = c_int()
        self.call("cuDriverGetVersion", byref(value))
        return f"{value.value // 1000}.{value.value % 1000 // 10}"

    def name(self, device: int) -> str:
        """A device's name."""
        text = ctypes.create_string_buffer(256)
        handle = c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", byref(handle), device)
        self.call("cuDeviceGetName", text, len(text), handle)
        return text.value.decode("utf-8", "replace")

    def multiprocessors(self, device: int) -> int:
        """A device's multiprocessors."""
        value, handle = c_int(), c_int()
        self.call("cuDeviceGet", byref(handle), device)
        self.call("cuDeviceGetAttribute", byref(value), _ATTRIBUTE_MULTIPROCESSORS, handle)
        return value.value

    @contextlib.contextmanager
    def context(self, device: int) -> Iterator[None]:
        """A device's primary context is current inside; the one before is again behind."""
        context = self._contexts.get(device)
        if context is None:
            handle, context = c_int(), c_void_p()
            self.call("cuInit", 0)
            self.call("cuDeviceGet", byref(handle), device)
            self.call("cuDevicePrimaryCtxRetain", byref(context), handle)
            self._contexts[device] = context
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self._cdll.cuCtxPopCurrent_v2(byref(c_void_p()))

    def locate(self, name: str, address: int) -> int:
        """The device on which an address lies; raises where it is no device memory of this process."""
        kind, ordinal = c_uint(), c_int()
        get = self._cdll.cuPointerGetAttribute
        result = get(byref(kind), _POINTER_MEMORY_TYPE, address)
        if result == 0:
            result = get(byref(ordinal), _POINTER_DEVICE_ORDINAL, address)
        if result != 0 or kind.value != _MEMORY_DEVICE:
            raise ArgumentError(
                name, "device memory of this process", f"address {address:#x}, which the driver does not know as such"
            )
        return ordinal.value

    def allocate(self, size: int) -> int:
        """Device memory in the current context."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), max(size, 1))
        return address.value

    def free(self, address: int) -> None:
        """The reverse; errors of a process that ends are of no interest."""
        self._cdll.cuMemFree_v2(address)

    def record(self, stream: int) -> c_void_p:
        """An event behind what the stream holds."""
        event = c_void_p()
        self.call("cuEventCreate", byref(event), _EVENT_WITHOUT_TIME)
        self.call("cuEventRecord", event, stream)
        return event

    def has_happened(self, event: c_void_p) -> bool:
        """Whether an event has; true also where the driver cannot tell any more."""
        return int(self._cdll.cuEventQuery(event)) != _ERROR_NOT_READY

    def destroy(self, event: c_void_p) -> None:
        """Gives an event back."""
        self._cdll.cuEventDestroy_v2(event)


_drivers: dict[str, Driver] = {}
_lock = threading.Lock()


def driver(path: str | None) -> Driver:
    """The driver at a path; None: the system's."""
    name = path or "libcuda.so.1"
    with _lock:
        if name not in _drivers:
            _drivers[name] = Driver(name)
        return _drivers[name]


def count_devices(path: str | None) -> int:
    """How many devices there are; 0 without a driver."""
    try:
        return driver(path).count()
    except NoDriverError:
        return 0
