# SPDX-License-Identifier: Apache-2.0
"""The two calls: decode, with every option, and the seed's function over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _generic
from ._arrays import is_torch
from ._errors import ArgumentError, InvalidError
from ._library import Kernel, Library
from ._plan import FULL, Layout
from ._problem import LSE_FORMS, TENSORS, Options, full_options, number, whole

# Defaults, which a call that leaves them out is known by.
_ONE, _NO_CAP, _PLAIN_LSE = 1.0, 0.0, 0

LseForm = int | str | Sequence[str]


def decode(
    q: Any,
    kv: Any,
    indices: Any,
    lens: Any,
    *,
    inv_scale: Any = None,
    block_size: int | None = None,
    scale: float | None = None,
    window_size: int | None = None,
    kv_format: str | None = None,
    kv_scale: float = _ONE,
    sinks: Any = None,
    soft_cap: float = _NO_CAP,
    v: Any = None,
    v_inv_scale: Any = None,
    v_indices: Any = None,
    v_scale: float = _ONE,
    extra_kv: Any = None,
    extra_indices: Any = None,
    extra_lens: Any = None,
    extra_inv_scale: Any = None,
    extra_block_size: int | None = None,
    extra_format: str | None = None,
    extra_scale: float = _ONE,
    out: Any = None,
    lse: Any = None,
    lse_form: LseForm = _PLAIN_LSE,
    num_splits: int | None = None,
    workspace: Any = None,
    dependent: bool = False,
    head_group: int | None = None,
    kv_tile: int | None = None,
    cluster_size: int | None = None,
    kernel: Kernel | None = None,
    library: Library | None = None,
    stream: Any = None,
) -> Any:
    """One decode step of sliding-window attention: section 8 of swa_jit.h, which has the formula and every rule.

    T tokens, H query heads, G KV heads, W columns, N blocks of B slots. Tensors are PyTorch's, NumPy's (on the CPU
    only) or any with ``__dlpack__`` or ``__cuda_array_interface__``; all lie on one device; none is copied, and none
    is read by the host.

    Arguments:
        q: bfloat16 (T, H, head_dim); elements side by side, any other positive stride.
        kv: the pool of K. bfloat16, or uint8 or float8_e4m3fn of e4m3's bits: (N, B, row) or (N, B, G, row). Footer
            formats, in bytes: (N, B, 584 or 528), (N, B, 1, 584 or 528), or (N, bytes of a block) with block_size.
        indices: int32 or int64 (T, W), (1, T, W) or (T, 1, W): slots, of which those out of range are masked.
        lens: int32 or int64 (T,): how many of a row's columns count.
        inv_scale: float32 or bfloat16, one a slot and KV head without gaps: (N * B,), (N * B, 1), (N, B), (N, B, G).
        block_size: slots of a block; taken from kv where it is left out.
        scale: of the scores; 1 / sqrt(head_dim) where it is left out.
        window_size: most columns that count; W where it is left out. A kernel is made for each.
        kv_format: "e4m3_slot", "e4m3", "bf16", "footer_584" or "footer_528"; left out: bf16 by its type, e4m3_slot
            where there is an inv_scale, a footer by its row of 584 or 528 bytes, else e4m3.
        kv_scale, v_scale, extra_scale: e4m3's scale of a pool.
        sinks: float32 (H,), a logit a head that no value goes with.
        soft_cap: c of c * tanh(s / c); 0 for none.
        v: V's own pool, as kv; rows may have another head_dim. v_inv_scale, v_indices: as inv_scale and indices.
        extra_kv, extra_indices, extra_lens, extra_inv_scale, extra_block_size, extra_format: the extra scope, attended
            in the same softmax. extra_lens left out: every column counts.
        out: bfloat16 (T, H, head_dim or V's) to write to; left out: a new one.
        lse: float32 (T, H) to write to, or True for a new one.
        lse_form: "base_2", "with_sink", "empty_plus_infinity", or several.
        num_splits: CTAs that share a token's positions; left out: picked (1 below 256 positions).
        workspace: bytes for splits, zeroed once; left out: one a stream that is kept.
        dependent: programmatic dependent launch.
        head_group, kv_tile, cluster_size: of the kernel; left out: picked for T and H. cluster_size 4: clusters of
            four CTAs, by default of head_group 16 and kv_tile 128; 0: none, as where only one of the others is given.
        kernel: one that was got before, in place of all that is picked.
        library: left out: the one that calls share (:func:`default_library`).
        stream: for tensors of other frameworks than PyTorch, whose current stream of q's device it always is: an
            address or an object with ``ptr``, ``cuda_stream`` or ``__cuda_stream__``.

    Returns: out; (out, lse) where lse is given. Of q's framework; see docs/python.md for those that are neither
    PyTorch, CuPy, JAX nor NumPy.

    Raises: :class:`ArgumentError` with the argument's name, what is expected and what was given; another
    :class:`Error` with the C library's status and message.
    """
    made_lse = None if lse is True or lse is False else lse
    wants_lse = lse is not None and lse is not False
    # The usual call has no more than these: the less is looked at, the quicker it is found again.
    if (
        v is None
        and extra_kv is None
        and workspace is None
        and v_inv_scale is None
        and v_indices is None
        and extra_indices is None
        and extra_lens is None
        and extra_inv_scale is None
        and kv_scale is _ONE
        and v_scale is _ONE
        and soft_cap is _NO_CAP
        and extra_block_size is None
        and extra_format is None
        and extra_scale is _ONE
        and lse_form is _PLAIN_LSE
        and num_splits is None
        and dependent is False
        and head_group is None
        and kv_tile is None
        and cluster_size is None
    ):
        short = (q, kv, indices, lens, inv_scale, sinks, out, made_lse)
        usual = (block_size, scale, window_size, kv_format)
        return _run(short, _SHORT, usual, wants_lse, library, kernel, stream)
    given = (
        block_size,
        scale,
        window_size,
        kv_format,
        kv_scale,
        v_scale,
        soft_cap,
        extra_block_size,
        extra_format,
        extra_scale,
        lse_form if type(lse_form) is int else _form_of(lse_form),
        num_splits,
        dependent,
        head_group,
        kv_tile,
        cluster_size,
    )
    tensors = (
        q,
        kv,
        indices,
        lens,
        inv_scale,
        sinks,
        v,
        v_inv_scale,
        v_indices,
        extra_kv,
        extra_indices,
        extra_lens,
        extra_inv_scale,
        out,
        made_lse,
        workspace,
    )
    return _run(tensors, FULL, given, wants_lse, library, kernel, stream)


def native_swa_decode_attention(
    q: Any,
    swa_kv_cache: Any,
    swa_inv_scale: Any,
    swa_indices: Any,
    swa_lens: Any,
    block_size: int,
    scale: float,
    window_size: int = 128,
    *,
    out: Any = None,
    lse: Any = None,
    sinks: Any = None,
) -> Any:
    """The published prototype's function, by its signature, on compiled kernels.

    Arguments:
        q: bfloat16 (T, H, head_dim).
        swa_kv_cache: uint8 or float8_e4m3fn (num_blocks, block_size, head_dim): K and V.
        swa_inv_scale: float32 or bfloat16 (slots,) or (slots, 1): what a slot's row is multiplied by.
        swa_indices: int32 or int64 (T, W), (1, T, W) or (T, 1, W): slots; those out of range are masked.
        swa_lens: int32 or int64 (T,), limited by window_size and W.
        block_size: slots of a block.
        scale: of the scores.
        window_size: most positions of a token.
        out: bfloat16 (T, H, head_dim) to write to; left out: a new one.
        lse: float32 (T, H) to write to, or True for a new one: ln of the sum of exp(score), without the sink.
        sinks: float32 (H,).

    Indices and lens may have more rows than q has tokens; the first T count. Runs on the current stream of q's device
    and is not waited for. README.md has a table of what differs from the prototype.

    Returns: out, or (out, lse) where lse is given. Raises: as :func:`decode`.
    """
    tensors = (
        q,
        swa_kv_cache,
        swa_indices,
        swa_lens,
        swa_inv_scale,
        sinks,
        out,
        None if lse is True or lse is False else lse,
    )
    given = (block_size, scale, window_size)
    return _run(tensors, _SEED, given, lse is not None and lse is not False, None, None, None)


def _seed_options(given: tuple[Any, ...], tensors: tuple[Any, ...]) -> Options:
    """Of the seed's call: a window is no wider than the indices."""
    block_size, scale, window_size = given
    indices: Any = tensors[2]
    shape: Any = indices.shape if is_torch(indices) else getattr(indices, "shape", ())
    window = whole("window_size", window_size, 1)
    return Options(
        whole("block_size", block_size, 1),
        number("scale", scale),
        min(window, shape[-1]) if len(shape) else window,
        "e4m3_slot",
    )


_SHORT = Layout((*TENSORS[:6], "out", "lse"), lambda given, _tensors: full_options(given))
_SEED = Layout((*TENSORS[:6], "out", "lse"), _seed_options)


def _form_of(form: LseForm, argument: str = "lse_form") -> int:
    names: Any = [form] if isinstance(form, str) else form
    if isinstance(names, int):
        return whole(argument, names, 0, 7)
    expected = " or ".join(LSE_FORMS) + ", or several of them"
    if not isinstance(names, (list, tuple, set, frozenset)):
        raise ArgumentError(argument, expected, repr(form))
    total = 0
    for name in names:
        if not isinstance(name, str) or name not in LSE_FORMS:
            raise ArgumentError(argument, expected, repr(name))
        total |= LSE_FORMS[name]
    return total


def _run_anew(
    tensors: tuple[Any, ...],
    layout: Layout,
    given: tuple[Any, ...],
    wants_lse: bool,
    library: Library | None,
    kernel: Kernel | None,
    stream: Any,
) -> Any:
    if is_torch(tensors[0]):
        if stream is not None:
            raise InvalidError(
                "stream: PyTorch's tensors run on the current stream of q's device; use torch.cuda.stream(...)"
            )
        _see_torch()
        from . import _torch

        found = _torch.decode(tensors, layout, given, wants_lse, library, kernel)
    else:
        options = layout.options(given, tensors)
        found = _generic.decode(layout.spread(given, tensors), options, wants_lse, library, kernel, stream)
    return found if wants_lse else found[0]


# Once PyTorch's tensors were seen, a call asks first whether it is like one before.
_run: Callable[..., Any] = _run_anew


def _see_torch() -> None:
    global _run
    if _run is _run_anew:
        from . import _torch

        _run = _torch.quickly(_run_anew)
