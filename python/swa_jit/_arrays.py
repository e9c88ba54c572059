# SPDX-License-Identifier: Apache-2.0
"""One view of every framework's tensors: address, shape, strides, type and device. Nothing is copied."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from . import _dlpack
from ._errors import ArgumentError

# Bytes of an element, by name.
ITEM_BYTES = {
    "bfloat16": 2,
    "uint8": 1,
    "int8": 1,
    "float8_e4m3fn": 1,
    "int32": 4,
    "int64": 8,
    "float32": 4,
    "uint16": 2,
    "void16": 2,
}
_INTERFACE_TYPES = {
    "|u1": "uint8",
    "|i1": "int8",
    "<u2": "uint16",
    "<V2": "void16",
    "|V2": "void16",
    "<i4": "int32",
    "<i8": "int64",
    "<f4": "float32",
    "|V1": "float8_e4m3fn",
    "<V1": "float8_e4m3fn",
}


class Array:
    """A tensor of any framework. ``strides`` count elements; ``owner`` keeps the memory alive."""

    __slots__ = ("address", "device", "dtype", "is_read_only", "name", "owner", "shape", "strides")

    def __init__(
        self,
        name: str,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: str,
        device: tuple[str, int],
        owner: Any,
        is_read_only: bool = False,
    ) -> None:
        self.name = name
        self.address = address
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.owner = owner
        self.is_read_only = is_read_only

    @property
    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def __repr__(self) -> str:
        return f"{self.dtype} {self.shape} on {device_text(self.device)}"


def device_text(device: tuple[str, int]) -> str:
    """ "cpu" or "cuda:0"."""
    return device[0] if device[0] == "cpu" else f"{device[0]}:{device[1]}"


def is_torch(value: Any) -> bool:
    """Whether it is a torch.Tensor; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def view(name: str, value: Any, stream: int | None = None) -> Array:
    """The view of an argument. ``stream``: on which the tensor will be used; other frameworks than PyTorch make
    it wait for their own work on the tensor."""
    if is_torch(value):
        return _view_torch(name, value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _view_numpy(name, value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _view_dlpack(name, value, stream)
    if hasattr(value, "__cuda_array_interface__"):
        return _view_interface(name, value)
    raise ArgumentError(
        name, "a tensor of PyTorch, NumPy, or any with __dlpack__ or __cuda_array_interface__", type_text(value)
    )


def type_text(value: Any) -> str:
    """A type by its full name."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _view_torch(name: str, tensor: Any) -> Array:
    torch = sys.modules["torch"]
    check_is_plain(name, tensor)
    device = tensor.device
    if device.type not in ("cpu", "cuda"):
        raise ArgumentError(name, "a tensor on a CUDA device", f"one on {device}")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ArgumentError(
            name, "no gradient to be asked for (call under torch.no_grad(), or detach it)", "requires_grad=True"
        )
    try:
        check_storage(name, tensor)
        address = tensor.data_ptr()
    except RuntimeError as error:
        fail_without_memory(name, tensor, error)
    return Array(
        name,
        address,
        tuple(tensor.shape),
        tuple(tensor.stride()),
        str(tensor.dtype).removeprefix("torch."),
        (device.type, device.index or 0),
        tensor,
    )


def fail_without_memory(name: str, tensor: Any, error: RuntimeError) -> NoReturn:
    """Of a torch.Tensor that gives no address: torch.func's, among others."""
    raise ArgumentError(name, "a tensor with memory of its own", f"{type_text(tensor)}: {error}") from error


def check_is_plain(name: str, tensor: Any) -> None:
    """Raises where a torch.Tensor's memory is not its elements, one after another by strides."""
    if tensor.is_nested or tensor.layout is not sys.modules["torch"].strided:
        kind = "a nested one" if tensor.is_nested else f"layout {tensor.layout}"
        raise ArgumentError(name, "a strided tensor", kind)
    if tensor.is_quantized:
        raise ArgumentError(name, "a tensor that is not quantized", f"{tensor.dtype}")
    if tensor.is_neg() or tensor.is_conj():
        raise ArgumentError(
            name, "a tensor as its memory has it (call .resolve_neg() once)", "a view that is negated when it is read"
        )


def check_storage(name: str, tensor: Any) -> None:
    """Raises where a torch.Tensor reaches past its storage: one that was freed or made smaller behind its back."""
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
    needed = (tensor.storage_offset() + last + 1) * tensor.element_size() if tensor.numel() else 0
    held = tensor.untyped_storage().nbytes()
    if needed > held:
        raise ArgumentError(name, f"a storage of {needed} bytes or more", f"{held} bytes (freed or resized?)")


def _view_numpy(name: str, array: Any) -> Array:
    dtype = array.dtype
    if not dtype.isnative:
        raise ArgumentError(name, "the machine's byte order", f"dtype {dtype.str}")
    kind = dtype.name if dtype.name in ITEM_BYTES else _INTERFACE_TYPES.get(dtype.str, dtype.name)
    if any(stride % dtype.itemsize for stride in array.strides):
        raise ArgumentError(name, f"strides in whole elements of {dtype.itemsize} bytes", f"{array.strides} bytes")
    strides = tuple(stride // dtype.itemsize for stride in array.strides)
    return Array(name, array.ctypes.data, array.shape, strides, kind, ("cpu", 0), array, not array.flags.writeable)


def _view_dlpack(name: str, value: Any, stream: int | None) -> Array:
    kind, _index = value.__dlpack_device__()
    try:
        found = _dlpack.take(value, stream if int(kind) in _dlpack.CUDA_DEVICES else None)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(name, "a tensor that __dlpack__ gives out", f"{type_text(value)}: {error}") from error
    array = Array(name, *found)
    # JAX's arrays never change, though not every release's capsule says so.
    array.is_read_only |= type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
    return array


def _view_interface(name: str, value: Any) -> Array:
    described = value.__cuda_array_interface__
    typestr = described["typestr"]
    dtype = _INTERFACE_TYPES.get(typestr, typestr)
    shape = tuple(int(extent) for extent in described["shape"])
    item = ITEM_BYTES.get(dtype, 0)
    strides = described.get("strides")
    if described.get("mask") is not None:
        raise ArgumentError(name, "an array without a mask", "one with a mask")
    if item == 0:
        raise ArgumentError(name, "an element type that is used here", f"typestr {typestr!r}")
    if strides is None:
        elements = packed_strides(shape)
    elif any(stride % item for stride in strides):
        raise ArgumentError(name, f"strides in whole elements of {item} bytes", f"{tuple(strides)} bytes")
    else:
        elements = tuple(stride // item for stride in strides)
    address = int(described["data"][0] or 0)
    # Which device an address belongs to only the driver knows: _driver.locate asks it.
    return Array(name, address, shape, elements, dtype, ("cuda", -1), value, bool(described["data"][1]))


def packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a tensor in C order, in elements."""
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))
