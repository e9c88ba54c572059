# SPDX-License-Identifier: Apache-2.0
"""What a kernel is specialised for."""

from __future__ import annotations

import ctypes
import dataclasses
from dataclasses import dataclass
from typing import Any

from . import _native
from ._errors import ArgumentError

KV_FORMATS = ("e4m3_slot", "e4m3", "bf16", "footer_584", "footer_528")
INT_TYPES = ("int32", "int64")
SCALE_TYPES = ("float32", "bfloat16")
KERNELS = ("decode", "merge")

_NAMES = {
    "kv_format": KV_FORMATS,
    "extra_format": KV_FORMATS,
    "index_type": INT_TYPES,
    "lens_type": INT_TYPES,
    "scale_type": SCALE_TYPES,
    "kernel": KERNELS,
}
_TEXT_SIZE = 512


@dataclass(frozen=True)
class Config:
    """swa_jit_config: every field is one of the C library's, by its name and with its default, but ``arch``, which is
    the current device's. docs/parameters.md has the values.

    ``kv_format`` and ``extra_format``: "e4m3_slot", "e4m3", "bf16", "footer_584" or "footer_528". ``index_type`` and
    ``lens_type``: "int32" or "int64". ``scale_type``: "float32" or "bfloat16". ``kernel``: "decode" or "merge".
    ``cluster_size``: 0, or 4 for thread block clusters of four CTAs that share a token's heads.
    """

    arch: str = "native"
    head_dim: int = 512
    head_group: int = 16
    kv_tile: int = 16
    window_size: int = 128
    kv_format: str = "e4m3_slot"
    index_type: str = "int32"
    lens_type: str = "int32"
    scale_type: str = "float32"
    lse: bool = True
    head_dim_v: int = 0
    sinks: bool = False
    soft_cap: bool = False
    extra_size: int = 0
    extra_format: str = "e4m3_slot"
    kernel: str = "decode"
    splits: bool = False
    cluster_size: int = 0

    @classmethod
    def from_text(cls, text: str) -> Config:
        """The configuration that a text like "arch=sm_90a head_dim=512" names: the command line's form and the record
        file's. What it leaves out has the C library's default (``arch``: sm_100a)."""
        lib = _native.native()
        struct = _native.Config()
        lib.config_init_sized(ctypes.byref(struct), ctypes.sizeof(struct))
        lib.check(lib.config_from_text(text.encode(), ctypes.byref(struct)))
        return cls._of_struct(struct)

    def to_text(self) -> str:
        """The reverse of :meth:`from_text`."""
        lib = _native.native()
        buffer = ctypes.create_string_buffer(_TEXT_SIZE)
        lib.check(lib.config_to_text(ctypes.byref(self._struct()), buffer, _TEXT_SIZE))
        return buffer.value.decode()

    def check(self) -> int:
        """Raises where the configuration is not legal or does not fit its architecture, which must be named. Returns
        the bytes of shared memory that a CTA will use. Needs no compiler and no device."""
        lib = _native.native()
        shared = ctypes.c_uint32()
        lib.check(lib.config_check(ctypes.byref(self._struct()), ctypes.byref(shared)))
        return shared.value

    def pick(self, num_tokens: int, num_heads: int, num_sms: int = 0) -> Config:
        """The same with the ``head_group``, ``kv_tile`` and ``cluster_size`` that were measured fastest. ``num_heads``:
        of one KV head; ``num_tokens``: tokens times KV heads. ``num_sms`` 0: the architecture's usual number."""
        lib = _native.native()
        struct = self._struct()
        counts = [_count("num_tokens", num_tokens), _count("num_heads", num_heads), _count("num_sms", num_sms)]
        lib.check(lib.pick(*counts, ctypes.byref(struct)))
        return dataclasses.replace(
            self, head_group=struct.head_group, kv_tile=struct.kv_tile, cluster_size=struct.cluster_size
        )

    def pick_splits(self, num_tokens: int, num_heads: int, num_kv_heads: int = 1, num_sms: int = 0) -> int:
        """How many CTAs should share a token's positions; 1 where ``splits`` is false."""
        lib = _native.native()
        splits = ctypes.c_uint32()
        lib.check(
            lib.pick_splits(
                ctypes.byref(self._struct()),
                _count("num_tokens", num_tokens),
                _count("num_heads", num_heads),
                _count("num_kv_heads", num_kv_heads),
                _count("num_sms", num_sms),
                ctypes.byref(splits),
            )
        )
        return splits.value

    def replace(self, **fields: Any) -> Config:
        """A copy with other values."""
        return dataclasses.replace(self, **fields)

    def _struct(self) -> _native.Config:
        struct = _native.Config(size=ctypes.sizeof(_native.Config))
        for field in dataclasses.fields(self):
            setattr(struct, field.name, _number_of(field.name, getattr(self, field.name)))
        return struct

    @classmethod
    def _of_struct(cls, struct: _native.Config) -> Config:
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            number = getattr(struct, field.name)
            if field.name == "arch":
                values["arch"] = arch_name(number) if number else "native"
            elif field.name in _NAMES:
                values[field.name] = _NAMES[field.name][number]
            else:
                values[field.name] = bool(number) if isinstance(field.default, bool) else number
        return cls(**values)


def arch_name(number: int) -> str:
    """ "sm_90a" for 90; an empty text for what is none."""
    name = _native.native().arch_name(number)
    return name.decode() if name else ""


def _arch_number(name: str | int) -> int:
    lib = _native.native()
    number = ctypes.c_uint32()
    lib.check(lib.arch_from_name(str(name).encode(), ctypes.byref(number)))
    return number.value


def _number_of(field: str, value: Any) -> int:
    if field == "arch":
        return _arch_number(value)
    if field in _NAMES:
        names = _NAMES[field]
        if value not in names:
            raise ArgumentError(field, " or ".join(repr(name) for name in names), repr(value))
        return names.index(value)
    return _count(field, int(value) if isinstance(value, bool) else value)


def _count(name: str, value: Any) -> int:
    """A number that fits the C field: ctypes would cut it silently."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise ArgumentError(name, "a whole number from 0 to 2^32 - 1", repr(value))
    return value
