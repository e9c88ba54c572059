# SPDX-License-Identifier: Apache-2.0
"""CPU tensors, where there is no GPU: through a software device that plays the driver (the emulator of tests/emulator),
or through the float64 path."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping

from . import _driver, _find, _reference
from ._arrays import Array
from ._config import Config
from ._errors import ArgumentError, Error
from ._library import Kernel, Library, default_library, logger
from ._plan import Device, Plan, check_kernel, choose, given_tiles
from ._problem import Options, Problem

# "float64" or "emulator". Without it: the software device that SWA_JIT_CUDA names, else float64.
VARIABLE = "SWA_JIT_CPU"
_SOFTWARE_NAMES = ("Emulated", "Fake")
_ALIGNMENT = 256

Arrays = Mapping[str, Array | None]

_emulator: Library | None = None
_lock = threading.Lock()


def decode(arrays: Arrays, problem: Problem, options: Options, library: Library | None, kernel: Kernel | None) -> None:
    """Writes out and lse, which are among the tensors."""
    _reference.check_overlaps(arrays)
    if kernel is not None:
        library = kernel.library
    device = software_library(library)
    if device is not None:
        path = device.cuda_path
        logger.info("decode: CPU tensors run on %s (%s)", _driver.driver(path).name(0), path)
        _run(arrays, problem, options, device, kernel)
        return
    # What no kernel does, the float64 path does not either.
    _check_some_kernel(problem.config, options)
    logger.info("decode: CPU tensors run in float64 on the CPU: there is no GPU here")
    _reference.decode(arrays, problem)


def _check_some_kernel(config: Config, options: Options) -> None:
    """Raises where no architecture has such a kernel."""
    config = config.replace(splits=(options.num_splits or 1) > 1, **given_tiles(options))
    for arch in ("sm_90a", "sm_80", "sm_100a"):
        try:
            config.replace(arch=arch).check()
            return
        except Error:
            if arch == "sm_100a":
                raise


def software_library(library: Library | None) -> Library | None:
    """The library object whose driver plays a device in software, or None for float64. Raises where there is a GPU:
    then a tensor on the CPU is a mistake."""
    choice = os.environ.get(VARIABLE) or None
    if choice not in (None, "float64", "emulator"):
        raise ArgumentError(VARIABLE, "float64 or emulator", repr(choice))
    if choice == "emulator" and library is None:
        return _emulator_library()
    path = (library or default_library()).cuda_path
    count = _driver.count_devices(path)
    if count > 0:
        name = _driver.driver(path).name(0)
        if not name.startswith(_SOFTWARE_NAMES):
            raise ArgumentError("q", "a tensor on a CUDA device", f"one on cpu (this machine has {name})")
        if choice != "float64":
            return library or default_library()
    return None


def _emulator_library() -> Library:
    global _emulator
    with _lock:
        if _emulator is None:
            path = os.environ.get("SWA_JIT_CUDA") or _find.emulator_path()
            if path is None:
                raise ArgumentError(VARIABLE, "an emulator that is installed or built", "none is found")
            _emulator = Library(cuda_path=path, use_ptx=True)
        return _emulator


class Copies:
    """Tensors on the software device, at the same places within 256 bytes as on the host."""

    def __init__(self, driver: _driver.Driver) -> None:
        self._driver = driver
        self._blocks: list[int] = []
        self._back: list[tuple[int, int, int]] = []

    def add(self, array: Array, is_result: bool) -> int:
        """The device address of a copy; results are copied back by finish."""
        first, size = _reference.span(array)
        if size == 0:
            return array.address
        offset = first % _ALIGNMENT
        block = self._driver.allocate(size + offset)
        self._blocks.append(block)
        self._driver.call("cuMemcpyHtoD_v2", block + offset, first, size)
        if is_result:
            self._back.append((first, block + offset, size))
        return block + offset

    def zeros(self, size: int) -> int:
        """The address of memory of zeros."""
        block = self._driver.allocate(size)
        self._blocks.append(block)
        zeros = ctypes.create_string_buffer(size)
        self._driver.call("cuMemcpyHtoD_v2", block, ctypes.addressof(zeros), size)
        return block

    def finish(self) -> None:
        """Waits for the launch and copies the results back."""
        self._driver.call("cuStreamSynchronize", None)
        for host, device, size in self._back:
            self._driver.call("cuMemcpyDtoH_v2", host, device, size)

    def free(self) -> None:
        """Gives the device's memory back."""
        for block in self._blocks:
            self._driver.free(block)


def _run(arrays: Arrays, problem: Problem, options: Options, library: Library, kernel: Kernel | None) -> None:
    driver = _driver.driver(library.cuda_path)
    with driver.context(0):
        if kernel is not None:
            check_kernel(kernel, problem)
            num_splits = options.num_splits or 1
        else:
            config, num_splits = choose(problem, options, Device(0, library.arch_native(), driver.multiprocessors(0)))
            kernel = library.kernel(config, device=0)
        plan = Plan(kernel, problem, num_splits)
        copies = Copies(driver)
        try:
            moved = {name: array for name, array in arrays.items() if array is not None}
            for name, array in moved.items():
                address = copies.add(array, name in ("out", "lse", "workspace"))
                moved[name] = Array(name, address, array.shape, array.strides, array.dtype, array.device, array)
            plan.set_addresses(moved)
            if plan.workspace_bytes and "workspace" not in moved:
                plan.set_workspace(copies.zeros(plan.workspace_bytes), plan.workspace_bytes)
            if problem.num_tokens:
                plan.launch(0)
            copies.finish()
        finally:
            copies.free()
