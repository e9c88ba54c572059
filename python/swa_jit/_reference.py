# SPDX-License-Identifier: Apache-2.0
"""The decode step in float64 with NumPy, as section 8 of swa_jit.h defines it: what CPU tensors run through where there
is no GPU, and what tests compare with. One token after another: it is for checking, not for speed."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from ._arrays import ITEM_BYTES, Array
from ._errors import ArgumentError
from ._problem import Problem

_FOOTERS = {"footer_584": (448, 8, 64, 576), "footer_528": (512, 16, 32, 512)}


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise ArgumentError("q", "a tensor on a CUDA device (or NumPy, for the float64 path)", "one on cpu") from None
    return numpy


def _e4m3_table() -> Any:
    np = _numpy()
    codes = np.arange(256)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    values = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0))
    values[(codes & 127) == 127] = np.nan
    return np.where(codes & 128, -values, values)


def from_bf16(bits: Any) -> Any:
    """float64 of bf16's bits."""
    np = _numpy()
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def to_bf16(values: Any) -> Any:
    """bf16's bits of float64, to nearest even, in one rounding."""
    np = _numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.asarray(values, np.float64).astype(np.float32)
        # Rounding to odd first: the bits that float32 drops still decide a tie.
        bits = single.view(np.uint32)
        exact = single.astype(np.float64)
        inexact = (exact != values) & np.isfinite(single)
        too_far = inexact & (np.abs(exact) > np.abs(values))
        bits = np.where(too_far, bits - 1, bits)
        bits = np.where(inexact, bits | 1, bits).astype(np.uint32)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(single), np.uint16(0x7FC0), rounded)


_NUMPY_TYPES = {
    "bfloat16": "u2",
    "uint16": "u2",
    "void16": "u2",
    "uint8": "u1",
    "int8": "u1",
    "float8_e4m3fn": "u1",
    "int32": "i4",
    "int64": "i8",
    "float32": "f4",
}


def span(array: Array) -> tuple[int, int]:
    """(first byte, bytes) that a tensor with positive strides takes."""
    if array.numel == 0:
        return array.address, 0
    item = ITEM_BYTES[array.dtype]
    last = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides))
    return array.address, (last + 1) * item


def as_numpy(array: Array) -> Any:
    """A tensor of the host's memory as a NumPy array of raw numbers, without a copy."""
    np = _numpy()
    dtype = np.dtype(_NUMPY_TYPES[array.dtype])
    address, size = span(array)
    if size == 0 or not address:
        return np.zeros(array.shape, dtype)
    memory = (ctypes.c_ubyte * size).from_address(address)
    strides = tuple(stride * dtype.itemsize for stride in array.strides)
    return np.ndarray(array.shape, dtype, memory, 0, strides)


def check_overlaps(arrays: Mapping[str, Array | None]) -> None:
    """Raises where a result is written over a tensor, as a launch does; without NumPy only the launch says so."""
    try:
        np = _numpy()
    except ArgumentError:
        return
    there = [(each, as_numpy(each)) for each in arrays.values() if each is not None and each.name != "workspace"]
    for result, memory in there:
        for other, its_memory in there:
            if result.name not in ("out", "lse") or other is result:
                continue
            if np.may_share_memory(memory, its_memory) and np.shares_memory(memory, its_memory):
                raise ArgumentError(result.name, "memory of its own", f"some that overlaps {other.name}'s")


class _Pool:
    """Rows of a pool by slot."""

    def __init__(
        self, array: Array, fmt: str, block_size: int, head_dim: int, inv_scale: Array | None, scale: float
    ) -> None:
        self.fmt = fmt
        self.block_size = block_size
        self.head_dim = head_dim
        self.num_slots = array.shape[0] * block_size
        self.data = as_numpy(array)
        self.num_heads = array.shape[2] if fmt not in _FOOTERS and len(array.shape) == 4 else 1
        self.inv_scale = None if inv_scale is None else _scales(inv_scale)
        self.scale = scale
        self.table = _e4m3_table()

    def rows(self, slots: Any, head: int) -> Any:
        """float64 [slots, head_dim]."""
        np = _numpy()
        blocks, places = slots // self.block_size, slots % self.block_size
        if self.fmt in _FOOTERS:
            return self._footer_rows(blocks, places)
        data = self.data[blocks, places]
        if data.ndim == 3:
            data = data[:, head]
        if self.fmt == "bf16":
            return from_bf16(data)
        rows = self.table[data]
        if self.inv_scale is None:
            return rows * self.scale
        with np.errstate(invalid="ignore"):
            return rows * self.inv_scale[slots * self.num_heads + head][:, None]

    def _footer_rows(self, blocks: Any, places: Any) -> Any:
        np = _numpy()
        num_codes, scale_row, group, row = _FOOTERS[self.fmt]
        data = self.data.reshape(self.data.shape[0], -1) if self.data.flags.c_contiguous else self._flat()
        at = places * row
        codes = data[blocks[:, None], at[:, None] + np.arange(num_codes)]
        first = self.block_size * row + places * scale_row
        scales = data[blocks[:, None], first[:, None] + np.arange(num_codes // group)]
        factors = np.where(scales == 255, np.nan, 2.0 ** (scales.astype(np.float64) - 127))
        with np.errstate(invalid="ignore"):
            values = self.table[codes] * np.repeat(factors, group, axis=1)
        if num_codes == self.head_dim:
            return values
        tail = data[blocks[:, None], (at + num_codes)[:, None] + np.arange(2 * (self.head_dim - num_codes))]
        bits = tail[:, 0::2].astype(np.uint16) | (tail[:, 1::2].astype(np.uint16) << 8)
        return np.concatenate([values, from_bf16(bits)], axis=1)

    def _flat(self) -> Any:
        """[blocks, bytes of a block] over blocks that lie apart."""
        np = _numpy()
        count = int(np.prod(self.data.shape[1:]))
        return np.lib.stride_tricks.as_strided(self.data, (self.data.shape[0], count), (self.data.strides[0], 1))


def _scales(array: Array) -> Any:
    np = _numpy()
    raw = as_numpy(array).reshape(-1)
    return from_bf16(raw) if array.dtype == "bfloat16" else raw.astype(np.float64)


class _Scope:
    """The positions of one pool: K's rows and V's."""

    def __init__(self, k: _Pool, v: _Pool | None, indices: Any, v_indices: Any, lens: Any, size: int) -> None:
        self.k, self.v, self.indices, self.v_indices, self.lens, self.size = k, v, indices, v_indices, lens, size

    def gather(self, token: int, head: int) -> tuple[Any, Any]:
        np = _numpy()
        length = self.size if self.lens is None else min(max(int(self.lens[token]), 0), self.size)
        slots = self.indices[token, :length].astype(np.int64)
        v_slots = slots if self.v_indices is None else self.v_indices[token, :length].astype(np.int64)
        keep = (slots >= 0) & (slots < self.k.num_slots) & (v_slots >= 0) & (v_slots < self.k.num_slots)
        keys = self.k.rows(slots[keep], head)
        return keys, keys if self.v is None else self.v.rows(v_slots[keep], head)


def _two_dims(array: Array) -> Any:
    found = as_numpy(array)
    if found.ndim == 3:
        found = found[0] if found.shape[0] == 1 else found[:, 0]
    return found


def _scopes(arrays: Mapping[str, Array | None], problem: Problem) -> list[_Scope]:
    config, args = problem.config, problem.args
    kv, indices, lens = arrays["kv"], arrays["indices"], arrays["lens"]
    assert kv is not None and indices is not None and lens is not None
    block_size = args.block_size
    k = _Pool(kv, config.kv_format, block_size, config.head_dim, arrays["inv_scale"], args.kv_scale)
    v = None
    v_array, v_indices = arrays["v"], arrays["v_indices"]
    if v_array is not None:
        v = _Pool(v_array, config.kv_format, block_size, config.head_dim_v, arrays["v_inv_scale"], args.v_scale)
    second = None if v_indices is None else _two_dims(v_indices)
    scopes = [_Scope(k, v, _two_dims(indices), second, as_numpy(lens), config.window_size)]
    extra, extra_indices, extra_lens = arrays["extra_kv"], arrays["extra_indices"], arrays["extra_lens"]
    if extra is not None and extra_indices is not None:
        pool = _Pool(
            extra,
            config.extra_format,
            args.extra_block_size,
            config.head_dim,
            arrays["extra_inv_scale"],
            args.extra_scale,
        )
        lengths = None if extra_lens is None else as_numpy(extra_lens)
        scopes.append(_Scope(pool, None, _two_dims(extra_indices), None, lengths, config.extra_size))
    return scopes


def decode(arrays: Mapping[str, Array | None], problem: Problem) -> None:
    """Writes out, and lse where it is given."""
    np = _numpy()
    args = problem.args
    q, out, lse, sinks = arrays["q"], arrays["out"], arrays["lse"], arrays["sinks"]
    assert q is not None and out is not None
    queries, results = as_numpy(q), as_numpy(out)
    logs = None if lse is None else as_numpy(lse)
    sink = np.full(problem.num_heads, -np.inf) if sinks is None else as_numpy(sinks).astype(np.float64)
    scopes = _scopes(arrays, problem)
    group = problem.num_heads // problem.num_kv_heads
    for token in range(problem.num_tokens):
        for head in range(problem.num_kv_heads):
            heads = slice(head * group, (head + 1) * group)
            parts = [scope.gather(token, head) for scope in scopes]
            keys = np.concatenate([part[0] for part in parts])
            values = np.concatenate([part[1] for part in parts])
            found, log = _attend(from_bf16(queries[token, heads]), keys, values, sink[heads], problem)
            results[token, heads] = to_bf16(found)
            if logs is not None:
                logs[token, heads] = _log_form(log, sink[heads], args.lse_form, len(keys) == 0)


def _attend(q: Any, keys: Any, values: Any, sink: Any, problem: Problem) -> tuple[Any, Any]:
    np = _numpy()
    args = problem.args
    if len(keys) == 0:
        return np.zeros((len(q), problem.out_dim)), np.full(len(q), -np.inf)
    with np.errstate(all="ignore"):
        scores = args.scale * (q @ keys.T)
        if args.soft_cap > 0:
            scores = args.soft_cap * np.tanh(scores / args.soft_cap)
        largest = scores.max(axis=1)
        # An infinite score: the difference below would be NaN where arithmetic has a limit to tell.
        weights = np.exp(scores - largest[:, None])
        total = weights.sum(axis=1)
        log = largest + np.log(total)
        top = np.maximum(largest, sink)
        share = np.exp(largest - top) / (np.exp(largest - top) * total + np.exp(sink - top))
        share = np.where(sink == np.inf, np.where(np.isnan(largest), np.nan, 0.0), share)
        return (weights @ values) * share[:, None], log


def _log_form(log: Any, sink: Any, form: int, is_empty: bool) -> Any:
    np = _numpy()
    if is_empty:
        return np.full(log.shape, np.inf if form & 4 else -np.inf)
    with np.errstate(all="ignore"):
        if form & 2:
            log = np.logaddexp(log, sink)
        return log / np.log(2) if form & 1 else log
