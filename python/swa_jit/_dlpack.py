# SPDX-License-Identifier: Apache-2.0
"""DLPack, taken and given: the capsule's struct as ctypes sees it (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

CPU_DEVICES = (1, 3)  # kDLCPU, kDLCUDAHost
CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
# (code, bits): name
_TYPES = {
    (0, 8): "int8",
    (0, 32): "int32",
    (0, 64): "int64",
    (1, 8): "uint8",
    (1, 16): "uint16",
    (2, 32): "float32",
    (4, 16): "bfloat16",
    (10, 8): "float8_e4m3fn",
}
_CODES = {name: code for code, name in _TYPES.items()}
_LEGACY_DEFAULT_STREAM = 1  # DLPack's number for it: 0 is not allowed


class _Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(Structure):
    _fields_ = [("tensor", _Tensor), ("manager", c_void_p), ("deleter", _Deleter)]


class _Versioned(Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    ]


_python = ctypes.pythonapi
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]

Found = tuple[int, tuple[int, ...], tuple[int, ...], str, tuple[str, int], Any, bool]
_READ_ONLY = 1


def _capsule_of(value: Any, stream: int | None) -> Any:
    wanted: dict[str, Any] = {}
    if stream is not None:
        wanted["stream"] = stream or _LEGACY_DEFAULT_STREAM
    try:
        return value.__dlpack__(max_version=(1, 0), **wanted)
    except TypeError:
        return value.__dlpack__(**wanted)


def take(value: Any, stream: int | None) -> Found:
    """What a tensor's capsule says: (address, shape, strides, type, device, owner, whether it is only to be read).
    The owner is the capsule, which holds the memory until it is dropped: it is looked at, not consumed."""
    capsule = _capsule_of(value, stream)
    if _python.PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        address = _python.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        versioned = ctypes.cast(address, POINTER(_Versioned)).contents
        tensor, is_read_only = versioned.tensor, bool(versioned.flags & _READ_ONLY)
    elif _python.PyCapsule_IsValid(capsule, b"dltensor"):
        address = _python.PyCapsule_GetPointer(capsule, b"dltensor")
        tensor, is_read_only = ctypes.cast(address, POINTER(_Managed)).contents.tensor, False
    else:
        raise ValueError("its capsule is none of DLPack's")
    kind = (tensor.code, tensor.bits)
    if tensor.lanes != 1 or kind not in _TYPES:
        raise ValueError(f"its element type (code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes) is not used")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[i] for i in range(tensor.ndim))
    else:
        from ._arrays import packed_strides

        strides = packed_strides(shape)
    if tensor.device_type in CPU_DEVICES:
        device = ("cpu", 0)
    elif tensor.device_type in CUDA_DEVICES:
        device = ("cuda", tensor.device_id)
    else:
        raise ValueError(f"it lies on a device of DLPack's type {tensor.device_type}")
    address = (tensor.data or 0) + tensor.byte_offset
    return address, shape, strides, _TYPES[kind], device, (capsule, value), is_read_only


# Capsules that were given out, by the address of their struct, until their consumer deletes them.
_given: dict[int, Any] = {}


def _forget(address: int | None) -> None:
    _given.pop(address or 0, None)


_forget_callback = _Deleter(_forget)


def _destroy(capsule: int) -> None:
    """A capsule that nobody consumed."""
    holder = ctypes.cast(capsule, ctypes.py_object)
    if _python.PyCapsule_IsValid(holder, b"dltensor"):
        _forget(_python.PyCapsule_GetPointer(holder, b"dltensor"))


_destroy_callback = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy)


def give(address: int, shape: tuple[int, ...], dtype: str, device: tuple[int, int], owner: Any) -> Any:
    """A capsule of a packed tensor; owner lives until its consumer has deleted it. device: DLPack's type and number."""
    managed = _Managed()
    extents = (c_int64 * len(shape))(*shape)
    code, bits = _CODES[dtype]
    managed.tensor = _Tensor(address, device[0], device[1], len(shape), code, bits, 1, extents, None, 0)
    managed.deleter = _forget_callback
    place = ctypes.addressof(managed)
    _given[place] = (managed, extents, owner)
    make: Callable[..., Any] = _python.PyCapsule_New
    return make(place, b"dltensor", ctypes.cast(_destroy_callback, c_void_p))
