# SPDX-License-Identifier: Apache-2.0
"""Tensors of frameworks other than PyTorch: NumPy's, and what comes by DLPack or __cuda_array_interface__."""

from __future__ import annotations

import sys
import threading
from typing import Any

from . import _cpu, _dlpack, _driver, _library
from ._arrays import Array, packed_strides, view
from ._errors import ArgumentError
from ._library import Kernel, Library
from ._plan import Device, Plan, check_kernel, choose
from ._problem import TENSORS, Options, Problem, build, whole

_CUDA = 2  # DLPack's kDLCUDA


class DeviceArray:
    """A result on a device, where q's framework has no tensor that can be written to: given out by DLPack and by
    __cuda_array_interface__. Its memory is freed with it."""

    def __init__(self, driver: _driver.Driver, device: int, shape: tuple[int, ...], dtype: str, size: int) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self._driver = driver
        self._stream = 0
        self._event: Any = None
        with driver.context(device):
            self.address = driver.allocate(size)

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            # The driver waits with the memory for work that still uses it.
            with self._driver.context(self.device):
                self._driver.free(self.address)
            self.address = 0

    def written_on(self, stream: int) -> None:
        """Marks what the stream holds now as what writes it."""
        self._stream = stream
        self._event = self._driver.record(stream)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": {"bfloat16": "<V2", "float32": "<f4"}[self.dtype],
            "data": (self.address, False),
            "strides": None,
            "stream": self._stream or 1,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.device

    def __dlpack__(self, *, stream: int | None = None, **_wanted: Any) -> Any:
        if stream != -1 and self._event is not None:
            with self._driver.context(self.device):
                waiting = 0 if stream in (None, 1) else stream
                self._driver.call("cuStreamWaitEvent", waiting, self._event, 0)
        return _dlpack.give(self.address, self.shape, self.dtype, (_CUDA, self.device), self)


# What launches that may not have ended read: (event, driver, device, owners).
_pending: list[tuple[Any, _driver.Driver, int, Any]] = []
_pending_lock = threading.Lock()


def _keep_alive(driver: _driver.Driver, device: int, stream: int, owners: Any) -> None:
    """Holds a launch's tensors until it has ended: their framework does not know of it."""
    event = driver.record(stream)
    with _pending_lock:
        ended = [entry for entry in _pending if entry[1].has_happened(entry[0])]
        _pending[:] = [entry for entry in _pending if entry not in ended]
        _pending.append((event, driver, device, owners))
    for old, its_driver, _device, _owners in ended:
        its_driver.destroy(old)


def stream_number(stream: Any, q: Any) -> int:
    """The address of a stream; None: the current one of CuPy, else the legacy default stream."""
    if stream is None:
        if type(q).__module__.partition(".")[0] == "cupy":
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
        return 0
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return whole("stream", stream, 0, 2**64 - 1)


def decode(
    tensors: tuple[Any, ...],
    options: Options,
    wants_lse: bool,
    library: Library | None,
    kernel: Kernel | None,
    stream: Any,
) -> tuple[Any, Any]:
    """out and LSE of tensors in the order of TENSORS."""
    _library.check_objects(library, kernel)
    q = tensors[0]
    number = stream_number(stream, q)
    arrays = {name: None if value is None else view(name, value, number) for name, value in zip(TENSORS, tensors)}
    if arrays["q"] is None:
        raise ArgumentError("q", "a tensor", None)
    if arrays["q"].device[0] == "cpu":
        return _on_cpu(q, arrays, options, wants_lse, library, kernel)
    library = kernel.library if kernel is not None else library or _library.default_library()
    driver = _driver.driver(library.cuda_path)
    index = arrays["q"].device[1]
    with driver.context(max(index, 0)):
        for array in arrays.values():
            if array is not None and array.device[0] == "cuda" and array.address and array.numel:
                array.device = ("cuda", driver.locate(array.name, array.address))
            elif array is not None and array.device[0] == "cuda":
                array.device = ("cuda", max(index, 0))
    return _on_device(q, arrays, options, wants_lse, library, kernel, number, driver)


def _on_cpu(
    q: Any,
    arrays: dict[str, Array | None],
    options: Options,
    wants_lse: bool,
    library: Library | None,
    kernel: Kernel | None,
) -> tuple[Any, Any]:
    problem = build(arrays, options)
    out = lse = None
    if arrays["out"] is None:
        out = _new_on_cpu(q, (problem.num_tokens, problem.num_heads, problem.out_dim), "bfloat16")
        arrays["out"] = view("out", out)
    if wants_lse and arrays["lse"] is None:
        lse = _new_on_cpu(q, (problem.num_tokens, problem.num_heads), "float32")
        arrays["lse"] = view("lse", lse)
        problem = problem._replace(config=problem.config.replace(lse=True))
    _cpu.decode(arrays, problem, options, library, kernel)
    given_out, given_lse = arrays["out"], arrays["lse"]
    assert given_out is not None
    return (
        _returned(q, out) if out is not None else _owner(given_out),
        _returned(q, lse) if lse is not None else (None if given_lse is None else _owner(given_lse)),
    )


def _owner(array: Array) -> Any:
    return array.owner[1] if isinstance(array.owner, tuple) else array.owner


def _new_on_cpu(q: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """A NumPy array; bf16 as q has it, or as raw uint16."""
    import numpy

    kind: Any = numpy.float32
    if dtype == "bfloat16":
        kind = q.dtype if isinstance(q, numpy.ndarray) else _bf16_type()
    return numpy.empty(shape, kind)


def _bf16_type() -> Any:
    try:
        import ml_dtypes

        return ml_dtypes.bfloat16
    except ImportError:
        return "uint16"


def _returned(q: Any, made: Any) -> Any:
    """A new result as q's framework has it."""
    if _package(q) in ("jax", "jaxlib"):
        return sys.modules["jax"].numpy.asarray(made)
    return made


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _on_device(
    q: Any,
    arrays: dict[str, Array | None],
    options: Options,
    wants_lse: bool,
    library: Library,
    kernel: Kernel | None,
    stream: int,
    driver: _driver.Driver,
) -> tuple[Any, Any]:
    problem = build(arrays, options)
    q_array = arrays["q"]
    assert q_array is not None
    index = q_array.device[1]
    out, lse = (None if arrays[name] is None else _owner(arrays[name] or q_array) for name in ("out", "lse"))
    if arrays["out"] is None:
        out = _new_on_device(q, (problem.num_tokens, problem.num_heads, problem.out_dim), "bfloat16", driver, index)
        arrays["out"] = _view_new("out", out, "bfloat16", index)
    if wants_lse and arrays["lse"] is None:
        lse = _new_on_device(q, (problem.num_tokens, problem.num_heads), "float32", driver, index)
        arrays["lse"] = _view_new("lse", lse, "float32", index)
        problem = problem._replace(config=problem.config.replace(lse=True))
    with driver.context(index):
        plan = _plan_of(problem, options, library, kernel, driver, index)
        plan.set_addresses(arrays)
        extra: list[Any] = []
        if plan.workspace_bytes and arrays["workspace"] is None:
            memory = DeviceArray(driver, index, (plan.workspace_bytes,), "uint8", plan.workspace_bytes)
            driver.call("cuMemsetD8Async", memory.address, 0, plan.workspace_bytes, stream)
            plan.set_workspace(memory.address, plan.workspace_bytes)
            extra.append(memory)
        if problem.num_tokens:
            plan.launch(stream)
        for made in (out, lse):
            if isinstance(made, DeviceArray):
                made.written_on(stream)
        _keep_alive(driver, index, stream, (arrays, extra))
    return _handed(q, out), _handed(q, lse)


def _handed(q: Any, made: Any) -> Any:
    """JAX's arrays cannot be written to: it takes the result over, and waits for it on its own stream."""
    if isinstance(made, DeviceArray) and _package(q) in ("jax", "jaxlib"):
        return sys.modules["jax"].dlpack.from_dlpack(made)
    return made


def _new_on_device(q: Any, shape: tuple[int, ...], dtype: str, driver: _driver.Driver, index: int) -> Any:
    if _package(q) == "cupy":
        cupy = sys.modules["cupy"]
        return cupy.empty(shape, q.dtype if dtype == "bfloat16" else cupy.float32)
    size = 4 if dtype == "float32" else 2
    for extent in shape:
        size *= extent
    return DeviceArray(driver, index, shape, dtype, size)


def result_view(name: str, made: Any, dtype: str, index: int, stream: int) -> Array:
    """The view of a result that was made here, or given."""
    if isinstance(made, DeviceArray) or _package(made) == "cupy":
        return _view_new(name, made, dtype, index)
    array = view(name, made, stream)
    array.device = ("cuda", index)
    return array


def _view_new(name: str, made: Any, dtype: str, index: int) -> Array:
    address = made.address if isinstance(made, DeviceArray) else made.data.ptr
    return Array(name, address, tuple(made.shape), packed_strides(tuple(made.shape)), dtype, ("cuda", index), made)


def _plan_of(
    problem: Problem,
    options: Options,
    library: Library,
    kernel: Kernel | None,
    driver: _driver.Driver,
    index: int,
) -> Plan:
    if kernel is not None:
        check_kernel(kernel, problem)
        return Plan(kernel, problem, options.num_splits or 1)
    device = Device(index, library.arch_native(), driver.multiprocessors(index))
    config, num_splits = choose(problem, options, device)
    return Plan(library.kernel(config, device=index), problem, num_splits)
