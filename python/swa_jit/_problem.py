# SPDX-License-Identifier: Apache-2.0
"""From tensors and options to a configuration and the C call's arguments. All that a tensor can be wrong in, but for
what the C library checks itself (alignment, overlaps), is found here and told by the argument's name."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _native
from ._arrays import ITEM_BYTES, Array, device_text
from ._config import INT_TYPES, KV_FORMATS, Config
from ._errors import ArgumentError

# The tensors of a call, in the order in which plans and operators have them.
TENSORS = (
    "q",
    "kv",
    "indices",
    "lens",
    "inv_scale",
    "sinks",
    "v",
    "v_inv_scale",
    "v_indices",
    "extra_kv",
    "extra_indices",
    "extra_lens",
    "extra_inv_scale",
    "out",
    "lse",
    "workspace",
)
_FOOTER_ROWS = {"footer_584": 584, "footer_528": 528}
_FOOTER_DIM = 512
_BYTE_TYPES = ("uint8", "float8_e4m3fn", "int8")
_BF16_TYPES = ("bfloat16", "uint16", "void16")
LSE_FORMS = {"base_2": 1, "with_sink": 2, "empty_plus_infinity": 4}


class Options(NamedTuple):
    """What is no tensor. None: taken from the tensors, or picked."""

    block_size: int | None = None
    scale: float | None = None
    window_size: int | None = None
    kv_format: str | None = None
    kv_scale: float = 1.0
    v_scale: float = 1.0
    soft_cap: float = 0.0
    extra_block_size: int | None = None
    extra_format: str | None = None
    extra_scale: float = 1.0
    lse_form: int = 0
    num_splits: int | None = None
    dependent: bool = False
    head_group: int | None = None
    kv_tile: int | None = None
    cluster_size: int | None = None


class Pool(NamedTuple):
    """A pool's rows: what its tensor says. Strides in bytes; 0: packed, or over an extent of 1."""

    format: str
    num_blocks: int
    block_size: int
    num_kv_heads: int
    head_dim: int
    block_stride: int
    slot_stride: int
    head_stride: int


class Problem(NamedTuple):
    """A call without its addresses."""

    config: Config
    args: _native.DecodeArgs
    num_tokens: int
    num_heads: int
    num_kv_heads: int
    out_dim: int


def number(name: str, value: Any) -> float:
    """A host number: a tensor on a device would have to be waited for."""
    is_plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_plain or (hasattr(value, "__float__") and not hasattr(value, "shape")) or _is_numpys(value):
        try:
            return float(value)
        except OverflowError:
            raise ArgumentError(name, "a number that a float can be", "a larger one") from None
    raise ArgumentError(name, "a Python number", _given(value))


def flag(name: str, value: Any) -> bool:
    """True or False, of the host too."""
    if isinstance(value, (bool, int)) or _is_numpys(value):
        return bool(value)
    raise ArgumentError(name, "True or False", _given(value))


def _is_numpys(value: Any) -> bool:
    """A number of NumPy's, which lies in the host's memory."""
    return type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()


def whole(name: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number of the host."""
    if type(value) is int:  # PyTorch 2.4 cannot trace the rest
        found: Any = value
    else:
        ask = None if hasattr(value, "device") else getattr(value, "__index__", None)
        found = None if ask is None else ask()
    if found is None or isinstance(value, bool) or not least <= found <= most:
        raise ArgumentError(name, f"a whole number from {least} to {most}", _given(value))
    return int(found)


def full_options(given: tuple[Any, ...]) -> Options:
    """Options as a caller gave them, checked and of their types."""
    options = Options(*given)

    def size(name: str, most: int = 2**31 - 1) -> int | None:
        value = getattr(options, name)
        return None if value is None else whole(name, value, 1, most)

    return Options(
        size("block_size"),
        None if options.scale is None else number("scale", options.scale),
        size("window_size"),
        options.kv_format,
        number("kv_scale", options.kv_scale),
        number("v_scale", options.v_scale),
        number("soft_cap", options.soft_cap),
        size("extra_block_size"),
        options.extra_format,
        number("extra_scale", options.extra_scale),
        whole("lse_form", options.lse_form, 0, 7),
        size("num_splits"),
        flag("dependent", options.dependent),
        size("head_group"),
        size("kv_tile"),
        None if options.cluster_size is None else whole("cluster_size", options.cluster_size),
    )


def _given(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"a tensor of {value.dtype} {tuple(value.shape)}"
    return repr(value)


def _check_type(array: Array, allowed: tuple[str, ...], text: str | None = None) -> None:
    if array.dtype not in allowed:
        raise ArgumentError(array.name, text or " or ".join(allowed), f"{array.dtype} {array.shape}")


def _check_rank(array: Array, ranks: tuple[int, ...], text: str) -> None:
    if len(array.shape) not in ranks:
        raise ArgumentError(array.name, text, f"shape {array.shape}")


def _check_row(array: Array) -> None:
    """The last dimension lies element by element."""
    if array.shape[-1] > 1 and array.strides[-1] != 1:
        raise ArgumentError(
            array.name, "elements side by side along its last dimension (stride 1)", f"strides {array.strides}"
        )


def _stride(array: Array, dim: int) -> int:
    """In elements; 0 where it leads nowhere."""
    if array.shape[dim] <= 1:
        return 0
    stride = array.strides[dim]
    if stride <= 0:
        kind = "an expanded" if stride == 0 else "a negative"
        raise ArgumentError(array.name, f"a positive stride in dimension {dim}", f"{kind} one: strides {array.strides}")
    return stride


def _check_packed(array: Array, name_of_layout: str) -> None:
    step = 1
    for extent, stride in zip(reversed(array.shape), reversed(array.strides)):
        if extent > 1 and stride != step:
            raise ArgumentError(
                array.name, f"{name_of_layout} without gaps (call .contiguous() once)", f"strides {array.strides}"
            )
        step *= extent


def _format_of(array: Array, given: str | None, has_inv_scale: bool, argument: str) -> str:
    if given is not None:
        if given not in KV_FORMATS:
            raise ArgumentError(argument, " or ".join(KV_FORMATS), repr(given))
        return given
    if array.dtype in _BF16_TYPES:
        return "bf16"
    if has_inv_scale:
        return "e4m3_slot"
    for name, row in _FOOTER_ROWS.items():
        if array.shape and array.shape[-1] == row:
            return name
    return "e4m3"


def _pool_of(array: Array, fmt: str, block_size: int | None, size_argument: str) -> Pool:
    if fmt in _FOOTER_ROWS:
        return _footer_pool(array, fmt, block_size, size_argument)
    element = 2 if fmt == "bf16" else 1
    _check_type(array, _BF16_TYPES if fmt == "bf16" else _BYTE_TYPES, "bfloat16" if fmt == "bf16" else None)
    _check_rank(array, (3, 4), "shape (num_blocks, block_size, row) or (num_blocks, block_size, num_kv_heads, row)")
    _check_row(array)
    has_heads = len(array.shape) == 4
    slots = _slots_of_block(array, block_size, size_argument)
    return Pool(
        fmt,
        array.shape[0],
        slots,
        array.shape[2] if has_heads else 1,
        array.shape[-1],
        element * _stride(array, 0),
        element * _stride(array, 1),
        element * _stride(array, 2) if has_heads else 0,
    )


def _slots_of_block(array: Array, block_size: int | None, size_argument: str) -> int:
    if block_size is None:
        return array.shape[1]
    if block_size > array.shape[1]:
        raise ArgumentError(size_argument, f"at most {array.name}'s {array.shape[1]} rows of a block", block_size)
    return block_size


def _footer_pool(array: Array, fmt: str, block_size: int | None, size_argument: str) -> Pool:
    row = _FOOTER_ROWS[fmt]
    _check_type(array, _BYTE_TYPES)
    _check_rank(array, (2, 3, 4), f"shape (num_blocks, block_size, {row}), (num_blocks, block_size, 1, {row}) or bytes")
    _check_row(array)
    if len(array.shape) == 2:
        if block_size is None:
            raise ArgumentError(size_argument, "to be given where a pool is (num_blocks, bytes)", None)
        if array.shape[1] < block_size * row:
            raise ArgumentError(
                array.name, f"{block_size * row} bytes a block or more ({block_size} slots of {fmt})", array.shape
            )
        slots = block_size
    else:
        if array.shape[-1] != row or (len(array.shape) == 4 and array.shape[2] != 1):
            raise ArgumentError(
                array.name, f"shape (num_blocks, block_size, {row}) or (num_blocks, block_size, 1, {row})", array.shape
            )
        slots = array.shape[1] if block_size is None else block_size
        if slots != array.shape[1]:
            raise ArgumentError(size_argument, f"{array.name}'s {array.shape[1]} slots of a block", slots)
        if array.shape[1] > 1 and array.strides[1] != row:
            raise ArgumentError(array.name, f"the bytes of a block in one piece (stride {row})", array.strides)
    return Pool(fmt, array.shape[0], slots, 1, _FOOTER_DIM, _stride(array, 0), 0, 0)


def _check_inv_scale(array: Array | None, pool: Pool, name: str) -> str:
    """Its type's name."""
    if pool.format != "e4m3_slot":
        if array is not None:
            raise ArgumentError(name, f"none with kv_format {pool.format}", array)
        return "float32"
    if array is None:
        raise ArgumentError(name, "a scale a slot (kv_format e4m3_slot)", None)
    _check_type(array, ("float32", "bfloat16"))
    _check_packed(array, "one scale a slot,")
    needed = pool.num_blocks * pool.block_size * pool.num_kv_heads
    if array.numel < needed:
        raise ArgumentError(name, f"{needed} scales or more, one a slot and KV head", f"shape {array.shape}")
    if pool.num_kv_heads > 1 and array.shape[-1] != pool.num_kv_heads:
        raise ArgumentError(name, f"a last dimension of {pool.num_kv_heads} KV heads", f"shape {array.shape}")
    return array.dtype


def _rows_of(array: Array, num_tokens: int) -> tuple[int, int]:
    """(columns, row stride) of indices of shape (T, W), (1, T, W) or (T, 1, W); more rows than tokens are fine."""
    _check_type(array, INT_TYPES)
    _check_rank(array, (2, 3), "shape (T, W), (1, T, W) or (T, 1, W)")
    if len(array.shape) == 2:
        dim = 0
    elif array.shape[0] == 1:
        dim = 1
    elif array.shape[1] == 1:
        dim = 0
    else:
        raise ArgumentError(array.name, "shape (T, W), (1, T, W) or (T, 1, W)", f"shape {array.shape}")
    if array.shape[dim] < num_tokens:
        raise ArgumentError(array.name, f"a row for each of the {num_tokens} tokens", f"shape {array.shape}")
    _check_row(array)
    width = array.shape[-1]
    return width, _stride(array, dim) if num_tokens > 1 else 0


def _check_lens(array: Array, num_tokens: int) -> None:
    _check_type(array, INT_TYPES)
    _check_rank(array, (1,), "shape (T,)")
    if array.shape[0] < num_tokens:
        raise ArgumentError(array.name, f"a length for each of the {num_tokens} tokens", f"shape {array.shape}")
    if num_tokens > 1 and array.strides[0] != 1:
        raise ArgumentError(array.name, "elements side by side (stride 1)", f"strides {array.strides}")


def _window(given: int | None, width: int) -> int:
    if given is None:
        return width
    if given > width:
        raise ArgumentError("window_size", f"at most the {width} columns of indices", given)
    return given


def build(arrays: Mapping[str, Array | None], options: Options) -> Problem:
    """Checks the tensors against each other and fills in everything but addresses and num_splits."""
    q, kv, indices, lens = (_required(arrays, name) for name in ("q", "kv", "indices", "lens"))
    _check_devices(arrays, q)
    _check_type(q, _BF16_TYPES, "bfloat16")
    _check_rank(q, (3,), "shape (T, num_heads, head_dim)")
    _check_row(q)
    num_tokens, num_heads, head_dim = q.shape
    if num_heads == 0 or head_dim == 0:
        raise ArgumentError("q", "a num_heads and a head_dim of 1 or more", f"shape {q.shape}")
    pool = _pool_of(
        kv,
        _format_of(kv, options.kv_format, arrays["inv_scale"] is not None, "kv_format"),
        options.block_size,
        "block_size",
    )
    if pool.head_dim != head_dim:
        raise ArgumentError("kv", f"rows of q's head_dim, {head_dim} elements", f"shape {kv.shape} ({pool.format})")
    width, row_stride = _rows_of(indices, num_tokens)
    _check_lens(lens, num_tokens)
    args = _native.DecodeArgs()
    lib = _native.native()
    lib.decode_args_init_sized(ctypes.byref(args), ctypes.sizeof(args))
    args.num_tokens, args.num_heads = num_tokens, num_heads
    args.q_token_stride, args.q_head_stride = _stride(q, 0), _stride(q, 1)
    args.num_blocks, args.block_size, args.num_kv_heads = pool.num_blocks, pool.block_size, pool.num_kv_heads
    args.block_stride_bytes, args.slot_stride_bytes = pool.block_stride, pool.slot_stride
    args.kv_head_stride_bytes = pool.head_stride
    args.indices_token_stride = row_stride
    args.scale = 1.0 / math.sqrt(head_dim) if options.scale is None else options.scale
    args.kv_scale, args.v_scale, args.soft_cap = options.kv_scale, options.v_scale, options.soft_cap
    args.lse_form, args.flags = options.lse_form, 1 if options.dependent else 0
    config = Config(
        head_dim=head_dim,
        window_size=_window(options.window_size, width),
        kv_format=pool.format,
        index_type=indices.dtype,
        lens_type=lens.dtype,
        scale_type=_check_inv_scale(arrays["inv_scale"], pool, "inv_scale"),
        lse=arrays["lse"] is not None,
        soft_cap=_is_capped(options.soft_cap),
        sinks=_check_sinks(arrays["sinks"], num_heads),
    )
    if arrays["v"] is not None:
        config = _add_v(config, args, arrays, pool)
    elif arrays["v_inv_scale"] is not None or arrays["v_indices"] is not None:
        raise ArgumentError("v", "V's own pool, as v_inv_scale or v_indices is given", None)
    if arrays["extra_kv"] is not None:
        config = _add_extra(config, args, arrays, options)
    else:
        for name in ("extra_indices", "extra_lens", "extra_inv_scale"):
            if arrays[name] is not None:
                raise ArgumentError("extra_kv", f"the extra scope's pool, as {name} is given", None)
    out_dim = config.head_dim_v or head_dim
    _add_results(args, arrays, (num_tokens, num_heads, out_dim))
    return Problem(config, args, num_tokens, num_heads, pool.num_kv_heads, out_dim)


def _is_capped(soft_cap: float) -> bool:
    if not 0 <= soft_cap < math.inf:
        raise ArgumentError("soft_cap", "0 for none, or a finite number above", soft_cap)
    return soft_cap > 0


def _required(arrays: Mapping[str, Array | None], name: str) -> Array:
    array = arrays[name]
    if array is None:
        raise ArgumentError(name, "a tensor", None)
    return array


def _check_devices(arrays: Mapping[str, Array | None], q: Array) -> None:
    for array in arrays.values():
        if array is not None and array.device != q.device:
            if q.device[0] == "cpu":
                raise ArgumentError("q", f"a tensor on a CUDA device, as {array.name} is", device_text(q.device))
            raise ArgumentError(array.name, f"q's device, {device_text(q.device)}", device_text(array.device))


def _check_sinks(sinks: Array | None, num_heads: int) -> bool:
    if sinks is None:
        return False
    _check_type(sinks, ("float32",))
    _check_rank(sinks, (1,), "shape (num_heads,)")
    if sinks.shape[0] < num_heads:
        raise ArgumentError("sinks", f"a sink for each of the {num_heads} heads", f"shape {sinks.shape}")
    if num_heads > 1 and sinks.strides[0] != 1:
        raise ArgumentError("sinks", "elements side by side (stride 1)", f"strides {sinks.strides}")
    return True


def _add_v(config: Config, args: _native.DecodeArgs, arrays: Mapping[str, Array | None], k: Pool) -> Config:
    v = _required(arrays, "v")
    if k.format in _FOOTER_ROWS:
        raise ArgumentError("v", f"none with kv_format {k.format}", v)
    pool = _pool_of(v, k.format, k.block_size, "block_size")
    if (pool.num_blocks, pool.num_kv_heads) != (k.num_blocks, k.num_kv_heads):
        raise ArgumentError(
            "v", f"kv's {k.num_blocks} blocks of {k.block_size} slots and {k.num_kv_heads} heads", f"shape {v.shape}"
        )
    kind = _check_inv_scale(arrays["v_inv_scale"], pool, "v_inv_scale")
    if k.format == "e4m3_slot" and kind != config.scale_type:
        raise ArgumentError("v_inv_scale", f"inv_scale's type, {config.scale_type}", kind)
    args.v_block_stride_bytes, args.v_slot_stride_bytes = pool.block_stride, pool.slot_stride
    args.v_head_stride_bytes = pool.head_stride
    v_indices = arrays["v_indices"]
    if v_indices is not None:
        width, row_stride = _rows_of(v_indices, args.num_tokens)
        if (
            v_indices.dtype != config.index_type
            or width < config.window_size
            or row_stride != args.indices_token_stride
        ):
            raise ArgumentError(
                "v_indices",
                f"indices' type, width and row stride ({config.index_type}, {config.window_size}, "
                f"{args.indices_token_stride})",
                f"{v_indices.dtype}, {width}, {row_stride}",
            )
    return config.replace(head_dim_v=pool.head_dim)


def _add_extra(
    config: Config, args: _native.DecodeArgs, arrays: Mapping[str, Array | None], options: Options
) -> Config:
    kv, indices, lens = _required(arrays, "extra_kv"), _required(arrays, "extra_indices"), arrays["extra_lens"]
    inv_scale = arrays["extra_inv_scale"]
    fmt = _format_of(kv, options.extra_format, inv_scale is not None, "extra_format")
    pool = _pool_of(kv, fmt, options.extra_block_size, "extra_block_size")
    if pool.head_dim != config.head_dim or pool.num_kv_heads != 1:
        raise ArgumentError(
            "extra_kv", f"rows of q's head_dim, {config.head_dim} elements, and one KV head", f"shape {kv.shape}"
        )
    width, row_stride = _rows_of(indices, args.num_tokens)
    if indices.dtype != config.index_type:
        raise ArgumentError("extra_indices", f"indices' type, {config.index_type}", indices.dtype)
    if lens is not None:
        _check_lens(lens, args.num_tokens)
        if lens.dtype != config.lens_type:
            raise ArgumentError("extra_lens", f"lens' type, {config.lens_type}", lens.dtype)
    kind = _check_inv_scale(inv_scale, pool, "extra_inv_scale")
    if inv_scale is not None and config.kv_format == "e4m3_slot" and kind != config.scale_type:
        raise ArgumentError("extra_inv_scale", f"inv_scale's type, {config.scale_type}", kind)
    args.extra_num_blocks, args.extra_block_size = pool.num_blocks, pool.block_size
    args.extra_block_stride_bytes, args.extra_slot_stride_bytes = pool.block_stride, pool.slot_stride
    args.extra_indices_token_stride = row_stride
    args.extra_scale = options.extra_scale
    return config.replace(
        extra_size=width, extra_format=fmt, scale_type=kind if inv_scale is not None else config.scale_type
    )


def _add_results(args: _native.DecodeArgs, arrays: Mapping[str, Array | None], shape: tuple[int, int, int]) -> None:
    out, lse = arrays["out"], arrays["lse"]
    for array in (out, lse):
        if array is not None and array.is_read_only:
            raise ArgumentError(array.name, "an array that can be written to", "one that is only to be read")
    if out is not None:
        _check_type(out, _BF16_TYPES, "bfloat16")
        if out.shape != shape:
            raise ArgumentError("out", f"shape {shape}", f"shape {out.shape}")
        _check_row(out)
        args.out_token_stride, args.out_head_stride = _stride(out, 0), _stride(out, 1)
    if lse is not None:
        _check_type(lse, ("float32",))
        if lse.shape != shape[:2]:
            raise ArgumentError("lse", f"shape {shape[:2]}", f"shape {lse.shape}")
        args.lse_token_stride, args.lse_head_stride = _stride(lse, 0), _stride(lse, 1)
    workspace = arrays["workspace"]
    if workspace is not None:
        _check_packed(workspace, "bytes")
        args.workspace_bytes = workspace.numel * ITEM_BYTES.get(workspace.dtype, 1)
