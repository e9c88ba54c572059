# SPDX-License-Identifier: Apache-2.0
"""Plans: all of a call but its addresses, made once for tensors of the same shapes, strides, types and device. At each
call the addresses are written into its struct, and the C function is called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from . import _native
from ._arrays import Array, packed_strides
from ._config import Config
from ._errors import ArgumentError
from ._library import Kernel, Library
from ._problem import TENSORS, Options, Problem, full_options

# Where an address goes, in 8-byte words of the struct.
WORDS = {name: getattr(_native.DecodeArgs, name).offset // 8 for name in TENSORS}
_WORKSPACE_BYTES = _native.DecodeArgs.workspace_bytes.offset // 8
# Positions from which on it is asked whether CTAs should share a token's: the rule of swa_jit_pick_splits needs two
# shares of 128.
_SPLIT_POSITIONS = 256
# Of clusters where the caller gives no other.
_CLUSTER_TILES = {"head_group": 16, "kv_tile": 128}


class Layout:
    """The order of a call's tensors, and what its options mean."""

    __slots__ = ("_derive", "_places", "names", "options", "words")

    def __init__(
        self,
        names: tuple[str, ...],
        options: Callable[[tuple[Any, ...], tuple[Any, ...]], Any],
        words: Mapping[str, int] = WORDS,
        derive: Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]] | None = None,
    ) -> None:
        self.names = names
        self.words = words
        # Of the options as they were given, and the tensors.
        self.options = options
        # Of the same two: views that are decoded in the tensors' place, at the same addresses.
        self._derive = derive
        # Of a decode's layout.
        self._places = tuple(names.index(name) if name in names else None for name in TENSORS)

    def spread(self, given: tuple[Any, ...], tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is decoded, in the order of TENSORS."""
        if self._derive is not None:
            tensors = self._derive(given, tensors)
        return tuple(None if place is None else tensors[place] for place in self._places)


FULL = Layout(TENSORS, lambda given, _tensors: full_options(given))


class Device:
    """What a choice of kernel needs to know of a device."""

    __slots__ = ("arch", "index", "num_sms")

    def __init__(self, index: int, arch: str, num_sms: int) -> None:
        self.index = index
        self.arch = arch
        self.num_sms = num_sms


def _no_tensor(*_wanted: Any) -> Any:
    raise AssertionError("a framework's plan says how it makes a tensor")


class Launch:
    """See the file's head; a decode's or a merge's. It belongs to one thread: two would overwrite each other's
    addresses. out_shape: (T, H, elements of a row)."""

    __slots__ = (
        "_args",
        "_kernel",
        "device",
        "function",
        "kernel",
        "library",
        "lse_place",
        "lse_shape",
        "lse_strides",
        "lse_word",
        "make",
        "makes_lse",
        "names",
        "needs_workspace",
        "out_place",
        "out_shape",
        "out_strides",
        "out_word",
        "places",
        "pointer",
        "takers",
        "words",
    )

    def __init__(self, function: Any, kernel: Kernel, args: Any, out_shape: tuple[int, ...]) -> None:
        self.function = function
        self.kernel = ctypes.c_void_p(kernel.address)
        self.library: Library = kernel.library
        self._kernel, self._args = kernel, args
        self.pointer = ctypes.c_void_p(ctypes.addressof(args))
        self.words = (ctypes.c_uint64 * (ctypes.sizeof(args) // 8)).from_buffer(args)
        self.out_shape, self.lse_shape = out_shape, out_shape[:2]
        self.out_strides, self.lse_strides = packed_strides(out_shape), (out_shape[1], 1)
        self.out_word, self.lse_word = type(args).out.offset // 8, type(args).lse.offset // 8
        # Of a framework: q's device, and what makes a tensor on it of a shape, strides and a type.
        self.device = -1
        self.make: Callable[..., Any] = _no_tensor
        # (place among a call's tensors, word of the struct) of those that are there.
        self.places: tuple[tuple[int, int], ...] = ()
        self.names: tuple[str, ...] = ()
        # Where out and LSE are among a call's tensors; -1: out is made, and LSE where one is wanted.
        self.out_place = self.lse_place = -1
        self.makes_lse = False
        # Of PyTorch: see _torch_known.py.
        self.takers: list[Callable[[tuple[Any, ...]], bool]] = []
        self.needs_workspace = False

    def set_places(self, layout: Layout, tensors: tuple[Any, ...], wants_lse: bool) -> None:
        """Which of a layout's tensors there are, where their addresses go, and what is made."""
        there = [(i, name) for i, name in enumerate(layout.names) if tensors[i] is not None]
        self.names = layout.names
        self.places = tuple((i, layout.words[name]) for i, name in there)
        found = {name: i for i, name in there}
        self.out_place, self.lse_place = found.get("out", -1), found.get("lse", -1)
        self.makes_lse = wants_lse and self.lse_place < 0


class Plan(Launch):
    """Of a decode."""

    __slots__ = ("_workspace", "num_splits", "problem", "workspace_bytes")

    def __init__(self, kernel: Kernel, problem: Problem, num_splits: int) -> None:
        problem.args.num_splits = num_splits
        shape = (problem.num_tokens, problem.num_heads, problem.out_dim)
        super().__init__(_native.native().decode, kernel, problem.args, shape)
        self.problem = problem
        self.num_splits = num_splits
        self._workspace = (0, 0)
        self.workspace_bytes = 0
        if num_splits > 1 or kernel.config.splits:
            self.workspace_bytes = kernel.workspace_bytes(
                problem.num_tokens, problem.num_heads, problem.num_kv_heads, num_splits
            )

    def set_places(self, layout: Layout, tensors: tuple[Any, ...], wants_lse: bool) -> None:
        """As of every launch; and whether it needs a workspace that is not among them."""
        super().set_places(layout, tensors, wants_lse)
        is_given = any(self.names[place] == "workspace" for place, _word in self.places)
        self.needs_workspace = self.workspace_bytes > 0 and not is_given

    def set_addresses(self, arrays: Mapping[str, Array | None]) -> None:
        """Of views."""
        for name, array in arrays.items():
            if array is not None:
                self.words[WORDS[name]] = array.address

    def set_workspace(self, address: int, size: int) -> None:
        """Of a workspace that is not among the tensors; mostly it is the one that the struct has."""
        if self._workspace != (address, size):
            self.words[WORDS["workspace"]] = address
            self.words[_WORKSPACE_BYTES] = size
            self._workspace = (address, size)

    def launch(self, stream: int) -> None:
        """Calls the C function."""
        status = self.function(self.kernel, self.pointer, stream)
        if status:
            _native.native().check(status)


def choose(problem: Problem, options: Options, device: Device) -> tuple[Config, int]:
    """The configuration to get, and num_splits."""
    config = problem.config.replace(arch=device.arch)
    wanted = options.num_splits
    if wanted is not None and wanted > 1:
        return _tiled(config.replace(splits=True), problem, options, device), wanted
    if wanted is None and problem.num_tokens and config.window_size + config.extra_size >= _SPLIT_POSITIONS:
        split = _tiled(config.replace(splits=True), problem, options, device)
        found = split.pick_splits(problem.num_tokens, problem.num_heads, problem.num_kv_heads, device.num_sms)
        if found > 1:
            return split, found
    return _tiled(config, problem, options, device), 1


def _tiled(config: Config, problem: Problem, options: Options, device: Device) -> Config:
    given = given_tiles(options)
    if "head_group" not in given or "kv_tile" not in given:
        num_heads = max(problem.num_heads // problem.num_kv_heads, 1)
        load = (max(problem.num_tokens * problem.num_kv_heads, 1), num_heads, device.num_sms)
        picked = config.pick(*load)
        if given and picked.cluster_size:
            # Of clusters, which are not wanted. Splits do not go with clusters: a pick for them has none.
            picked = config.replace(splits=True).pick(*load).replace(splits=config.splits)
        config = picked
    return config.replace(**given)


def given_tiles(options: Options) -> dict[str, int]:
    """What is not picked of head_group, kv_tile and cluster_size."""
    given = {
        "head_group": options.head_group,
        "kv_tile": options.kv_tile,
        "cluster_size": options.cluster_size,
    }
    found = {name: value for name, value in given.items() if value is not None}
    if options.cluster_size:
        return {**_CLUSTER_TILES, **found}
    return {**found, "cluster_size": 0} if found else {}


def check_kernel(kernel: Kernel, problem: Problem) -> None:
    """Whether a kernel that the caller got serves these tensors; what a launch checks is left to it."""
    have, need = kernel.config, problem.config
    fields = ["head_dim", "head_dim_v", "kv_format", "index_type", "lens_type", "extra_size", "kernel"]
    if need.kv_format == "e4m3_slot" or (need.extra_size and need.extra_format == "e4m3_slot"):
        fields.append("scale_type")
    if need.extra_size:
        fields.append("extra_format")
    for field in fields:
        if getattr(have, field) != getattr(need, field):
            raise ArgumentError("kernel", f"one with {field}={getattr(need, field)}", f"{field}={getattr(have, field)}")
    if have.window_size > need.window_size:
        raise ArgumentError(
            "kernel", f"a window_size of at most indices' {need.window_size} columns", f"{have.window_size}"
        )
