# SPDX-License-Identifier: Apache-2.0
"""The C interface as ctypes sees it: the structs of swa_jit.h field by field, the functions and their types. Nothing
else in the package spells either. tests/python/test_native.py compares the structs with the header."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from typing import Any

from . import _find
from ._errors import LibraryNotFoundError, error_of

# The release whose header is mirrored here: a library of the same major and minor release is taken.
RELEASE = (0, 1)

LogFn = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_char_p)


class Options(Structure):
    """swa_jit_options"""

    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("log_level", c_uint32),
        ("lock_wait_ms", c_uint32),
        ("log", LogFn),
        ("log_data", c_void_p),
        ("cache_dir", c_char_p),
        ("nvrtc_path", c_char_p),
        ("cuda_path", c_char_p),
        ("dump_dir", c_char_p),
        ("record_path", c_char_p),
        ("cache_path", c_char_p),
        ("cache_limit_bytes", c_uint64),
    ]


class Config(Structure):
    """swa_jit_config"""

    _fields_ = [
        (name, c_uint32)
        for name in (
            "size",
            "arch",
            "head_dim",
            "head_group",
            "kv_tile",
            "window_size",
            "kv_format",
            "index_type",
            "lens_type",
            "scale_type",
            "lse",
            "head_dim_v",
            "sinks",
            "soft_cap",
            "extra_size",
            "extra_format",
            "kernel",
            "splits",
            "cluster_size",
        )
    ]


class KernelInfo(Structure):
    """swa_jit_kernel_info"""

    _fields_ = [
        ("size", c_uint32),
        ("arch", c_uint32),
        ("origin", c_uint32),
        ("store_status", c_uint32),
        ("num_threads", c_uint32),
        ("shared_memory_bytes", c_uint32),
        ("num_registers", c_uint32),
        ("spill_store_bytes", c_uint32),
        ("spill_load_bytes", c_uint32),
        ("nvrtc_version", c_uint32),
        ("cubin_bytes", c_uint64),
        ("compile_ns", c_uint64),
        ("get_ns", c_uint64),
        ("file_name", c_char_p),
        ("key_text", c_char_p),
        ("miss_reason", c_char_p),
    ]


class DecodeArgs(Structure):
    """swa_jit_decode_args"""

    _fields_ = [
        ("size", c_uint32),
        ("num_tokens", c_uint32),
        ("num_heads", c_uint32),
        ("block_size", c_uint32),
        ("num_blocks", c_uint64),
        ("q", c_void_p),
        ("q_token_stride", c_int64),
        ("q_head_stride", c_int64),
        ("kv", c_void_p),
        ("block_stride_bytes", c_int64),
        ("slot_stride_bytes", c_int64),
        ("inv_scale", c_void_p),
        ("indices", c_void_p),
        ("indices_token_stride", c_int64),
        ("lens", c_void_p),
        ("out", c_void_p),
        ("out_token_stride", c_int64),
        ("out_head_stride", c_int64),
        ("lse", c_void_p),
        ("lse_token_stride", c_int64),
        ("scale", c_float),
        ("lse_form", c_uint32),
        ("lse_head_stride", c_int64),
        ("flags", c_uint32),
        ("num_kv_heads", c_uint32),
        ("kv_head_stride_bytes", c_int64),
        ("kv_scale", c_float),
        ("v_scale", c_float),
        ("sinks", c_void_p),
        ("soft_cap", c_float),
        ("num_splits", c_uint32),
        ("v", c_void_p),
        ("v_block_stride_bytes", c_int64),
        ("v_slot_stride_bytes", c_int64),
        ("v_head_stride_bytes", c_int64),
        ("v_inv_scale", c_void_p),
        ("v_indices", c_void_p),
        ("extra_kv", c_void_p),
        ("extra_block_stride_bytes", c_int64),
        ("extra_slot_stride_bytes", c_int64),
        ("extra_inv_scale", c_void_p),
        ("extra_indices", c_void_p),
        ("extra_indices_token_stride", c_int64),
        ("extra_lens", c_void_p),
        ("extra_num_blocks", c_uint64),
        ("extra_block_size", c_uint32),
        ("extra_scale", c_float),
        ("workspace", c_void_p),
        ("workspace_bytes", c_uint64),
    ]


class MergeArgs(Structure):
    """swa_jit_merge_args"""

    _fields_ = [
        ("size", c_uint32),
        ("num_parts", c_uint32),
        ("num_tokens", c_uint32),
        ("num_heads", c_uint32),
        ("head_dim", c_uint32),
        ("flags", c_uint32),
        ("parts_form", c_uint32),
        ("lse_form", c_uint32),
        ("outs", c_void_p * 8),
        ("lses", c_void_p * 8),
        ("outs_token_stride", c_int64),
        ("outs_head_stride", c_int64),
        ("lses_token_stride", c_int64),
        ("lses_head_stride", c_int64),
        ("out", c_void_p),
        ("out_token_stride", c_int64),
        ("out_head_stride", c_int64),
        ("lse", c_void_p),
        ("lse_token_stride", c_int64),
        ("lse_head_stride", c_int64),
        ("sinks", c_void_p),
    ]


class Stats(Structure):
    """swa_jit_stats"""

    _fields_ = [("size", c_uint32), ("reserved", c_uint32)] + [
        (name, c_uint64)
        for name in (
            "store_hits",
            "store_misses",
            "store_set_aside",
            "store_writes",
            "store_write_failures",
            "store_bytes_read",
            "store_bytes_written",
            "lock_waits",
            "lock_failures",
            "compiles",
            "compile_failures",
            "compile_ns",
            "loads",
            "load_ns",
            "layer_hits",
            "layer_skips",
            "evictions",
            "evicted_bytes",
            "failures_remembered",
        )
    ]


STRUCTS: dict[str, type[Structure]] = {
    "swa_jit_options": Options,
    "swa_jit_config": Config,
    "swa_jit_kernel_info": KernelInfo,
    "swa_jit_decode_args": DecodeArgs,
    "swa_jit_merge_args": MergeArgs,
    "swa_jit_stats": Stats,
}

# name: (result, arguments). A result of None is void; c_int is a swa_jit_status.
_OUT_TEXT = POINTER(c_char_p)
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "swa_jit_version_text": (c_char_p, []),
    "swa_jit_message": (c_char_p, []),
    "swa_jit_options_init_sized": (None, [POINTER(Options), c_size_t]),
    "swa_jit_config_init_sized": (None, [POINTER(Config), c_size_t]),
    "swa_jit_decode_args_init_sized": (None, [POINTER(DecodeArgs), c_size_t]),
    "swa_jit_merge_args_init_sized": (None, [POINTER(MergeArgs), c_size_t]),
    "swa_jit_config_check": (c_int, [POINTER(Config), POINTER(c_uint32)]),
    "swa_jit_config_to_text": (c_int, [POINTER(Config), c_char_p, c_size_t]),
    "swa_jit_config_from_text": (c_int, [c_char_p, POINTER(Config)]),
    "swa_jit_arch_name": (c_char_p, [c_uint32]),
    "swa_jit_arch_from_name": (c_int, [c_char_p, POINTER(c_uint32)]),
    "swa_jit_pick": (c_int, [c_uint32, c_uint32, c_uint32, POINTER(Config)]),
    "swa_jit_pick_splits": (c_int, [POINTER(Config), c_uint32, c_uint32, c_uint32, c_uint32, POINTER(c_uint32)]),
    "swa_jit_open": (c_int, [POINTER(Options), POINTER(c_void_p)]),
    "swa_jit_close": (None, [POINTER(c_void_p)]),
    "swa_jit_arch_native": (c_int, [c_void_p, POINTER(c_uint32)]),
    "swa_jit_kernel_get": (c_int, [c_void_p, POINTER(Config), POINTER(c_void_p)]),
    "swa_jit_cubin_get": (
        c_int,
        [c_void_p, POINTER(Config), POINTER(c_void_p), POINTER(c_size_t), POINTER(KernelInfo)],
    ),
    "swa_jit_kernel_get_info": (c_int, [c_void_p, POINTER(KernelInfo)]),
    "swa_jit_source": (c_int, [c_void_p, POINTER(Config), _OUT_TEXT]),
    "swa_jit_key_text": (c_int, [c_void_p, POINTER(Config), _OUT_TEXT]),
    "swa_jit_ptx": (c_int, [c_void_p, POINTER(Config), _OUT_TEXT]),
    "swa_jit_log_text": (c_int, [c_void_p, POINTER(Config), _OUT_TEXT]),
    "swa_jit_store_has": (c_int, [c_void_p, POINTER(Config), _OUT_TEXT, POINTER(c_uint32)]),
    "swa_jit_store_check": (c_int, [c_void_p]),
    "swa_jit_workspace_bytes": (c_int, [c_void_p, c_uint32, c_uint32, c_uint32, c_uint32, POINTER(c_uint64)]),
    # Called at each step: addresses as plain numbers cost less than typed pointers.
    "swa_jit_decode": (c_int, [c_void_p, c_void_p, c_void_p]),
    "swa_jit_merge": (c_int, [c_void_p, c_void_p, c_void_p]),
    "swa_jit_stats_get": (c_int, [c_void_p, POINTER(Stats)]),
}

# What each initialiser must write for the layouts to agree: a field far from its place would not get these.
_DEFAULTS: list[tuple[str, type[Structure], dict[str, Any]]] = [
    ("swa_jit_options_init_sized", Options, {"cache_limit_bytes": 0}),
    (
        "swa_jit_config_init_sized",
        Config,
        {"arch": 100, "head_dim": 512, "window_size": 128, "lse": 1, "splits": 0, "cluster_size": 0},
    ),
    (
        "swa_jit_decode_args_init_sized",
        DecodeArgs,
        {"block_size": 1, "kv_scale": 1.0, "v_scale": 1.0, "extra_block_size": 1, "extra_scale": 1.0},
    ),
    ("swa_jit_merge_args_init_sized", MergeArgs, {"num_parts": 0}),
]


class Native:
    """The loaded library: its functions as attributes, by their names less "swa_jit_"."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.cdll = ctypes.CDLL(path)
        except OSError as error:
            raise LibraryNotFoundError(
                f"{path} cannot be opened: {error}; build the sources and set {_find.VARIABLE} to the build folder, or "
                "install the wheel"
            ) from None
        for name, (result, arguments) in FUNCTIONS.items():
            try:
                function = getattr(self.cdll, name)
            except AttributeError:
                raise LibraryNotFoundError(f"{path} lacks {name}: it is of another release than this package") from None
            function.restype = result
            function.argtypes = arguments
            setattr(self, name[len("swa_jit_") :], function)
        self._check_release()
        self._check_defaults()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def _check_release(self) -> None:
        self.version = str(self.version_text().decode())
        release = tuple(int(part) for part in self.version.split(".")[:2])
        if release != RELEASE:
            raise LibraryNotFoundError(
                f"{self.path} is release {self.version}, and this package is for {RELEASE[0]}.{RELEASE[1]}: "
                f"install one of them anew, or set {_find.VARIABLE}"
            )

    def _check_defaults(self) -> None:
        for name, struct, expected in _DEFAULTS:
            value = struct()
            getattr(self.cdll, name)(ctypes.byref(value), ctypes.sizeof(struct))
            for field, default in {"size": ctypes.sizeof(struct), **expected}.items():
                if getattr(value, field) != default:
                    raise LibraryNotFoundError(
                        f"{self.path}: {name} writes {getattr(value, field)} to {field}, not {default}: it is of "
                        "another release than this package"
                    )

    def message_of_thread(self) -> str:
        return str(self.message().decode("utf-8", "replace"))

    def check(self, status: int) -> None:
        """Raises for a status other than OK."""
        if status != 0:
            raise error_of(status, self.message_of_thread())


@lru_cache(maxsize=1)
def native() -> Native:
    """The library, loaded at the first call that needs it."""
    return Native(_find.library_path())
