# SPDX-License-Identifier: Apache-2.0
"""Partial results over disjoint positions, made one: section 9 of swa_jit.h."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from . import _cpu, _driver, _generic, _library, _native, _reference
from ._arrays import Array, is_torch, type_text, view
from ._config import Config
from ._decode import LseForm, _form_of
from ._errors import ArgumentError, InvalidError
from ._library import Kernel, Library, logger
from ._problem import _BF16_TYPES, _check_row, _check_sinks, _check_type, _stride, flag

MAX_PARTS = 8


def merge(
    outs: Sequence[Any],
    lses: Sequence[Any],
    *,
    sinks: Any = None,
    out: Any = None,
    lse: Any = None,
    parts_form: LseForm = 0,
    lse_form: LseForm = 0,
    dependent: bool = False,
    library: Library | None = None,
    stream: Any = None,
) -> Any:
    """One result of several decodes of the same queries over disjoint positions, each made with LSE and without sinks.

    Arguments:
        outs: 1 to 8 of bfloat16 (T, H, D); all with the same strides.
        lses: as many of float32 (T, H); all with the same strides.
        sinks: float32 (H,), applied once, here.
        out: bfloat16 (T, H, D) to write to, which may be one of outs; left out: a new one.
        lse: float32 (T, H) to write to, or True for a new one.
        parts_form, lse_form: of the parts' LSE ("base_2", "empty_plus_infinity") and of the merged one (also
            "with_sink").
        dependent, library, stream: as of :func:`decode`.

    Returns: out, or (out, lse) where lse is given. Raises: as :func:`decode`.
    """
    wants_lse = lse is not None and lse is not False
    given = None if lse is True or lse is False else lse
    if type(parts_form) is not int or not 0 <= parts_form <= 7:
        parts_form = _form_of(parts_form, "parts_form")
    if type(lse_form) is not int or not 0 <= lse_form <= 7:
        lse_form = _form_of(lse_form)
    if type(outs) not in _PLAIN_PARTS or type(lses) not in _PLAIN_PARTS or not outs:
        _check_parts(outs, lses)
    if type(dependent) is not bool:
        dependent = flag("dependent", dependent)
    options = (len(outs), len(lses), parts_form, lse_form, dependent)
    return _run((*outs, *lses, sinks, out, given), None, options, wants_lse, library, None, stream)


def _run_anew(
    tensors: tuple[Any, ...],
    _layout: None,
    options: tuple[int, int, int, int, bool],
    wants_lse: bool,
    library: Library | None,
    _kernel: None,
    stream: Any,
) -> Any:
    check_counts(*options[:2])
    _library.check_objects(library, None)
    if is_torch(tensors[0]):
        if stream is not None:
            raise InvalidError(
                "stream: PyTorch's tensors run on the current stream of their device; use torch.cuda.stream(...)"
            )
        _see_torch()
        from . import _torch_merge

        found = _torch_merge.merge(tensors, options, wants_lse, library)
    else:
        num_parts, _num_lses, parts_form, lse_form, dependent = options
        outs, lses, (sinks, out, lse) = tensors[:num_parts], tensors[num_parts:-3], tensors[-3:]
        forms = (parts_form, lse_form)
        found = _merge_generic(outs, lses, sinks, out, lse, forms, wants_lse, dependent, library, stream)
    return found if wants_lse else found[0]


# As in _decode.py.
_run: Callable[..., Any] = _run_anew


def _see_torch() -> None:
    global _run
    if _run is _run_anew:
        from . import _torch

        _run = _torch.quickly(_run_anew)


_PLAIN_PARTS = (tuple, list)


def _check_parts(outs: Any, lses: Any) -> None:
    for name, parts in (("outs", outs), ("lses", lses)):
        if not isinstance(parts, _PLAIN_PARTS):
            raise ArgumentError(name, f"a list or tuple of 1 to {MAX_PARTS} parts", type_text(parts))
    if not outs:
        raise ArgumentError("outs", f"1 to {MAX_PARTS} parts", "none")


def check_counts(num_outs: int, num_lses: int) -> None:
    """Raises for too many parts, or fewer LSEs than parts."""
    if not 1 <= num_outs <= MAX_PARTS or num_lses != num_outs:
        raise ArgumentError("outs", f"1 to {MAX_PARTS} parts, and an LSE of each", f"{num_outs} and {num_lses}")


class Parts:
    """The views of a merge and its arguments."""

    def __init__(
        self,
        outs: Sequence[Any],
        lses: Sequence[Any],
        sinks: Any,
        forms: tuple[int, int],
        dependent: bool,
        stream: int | None = None,
    ) -> None:
        check_counts(len(outs), len(lses))
        self.outs = [view(f"outs[{i}]", each, stream) for i, each in enumerate(outs)]
        self.lses = [view(f"lses[{i}]", each, stream) for i, each in enumerate(lses)]
        self.sinks = None if sinks is None else view("sinks", sinks, stream)
        first, log = self.outs[0], self.lses[0]
        _check_same(self.outs, _BF16_TYPES, "bfloat16", 3, "(T, H, D)")
        _check_same(self.lses, ("float32",), "float32", 2, "(T, H)")
        if log.shape != first.shape[:2]:
            raise ArgumentError("lses[0]", f"shape {first.shape[:2]}", f"shape {log.shape}")
        _check_row(first)
        self.shape = first.shape
        self.device = first.device
        args = _native.MergeArgs()
        lib = _native.native()
        lib.merge_args_init_sized(ctypes.byref(args), ctypes.sizeof(args))
        args.num_parts, args.flags = len(outs), 1 if dependent else 0
        args.num_tokens, args.num_heads, args.head_dim = first.shape
        args.parts_form, args.lse_form = forms
        args.outs_token_stride, args.outs_head_stride = _stride(first, 0), _stride(first, 1)
        args.lses_token_stride, args.lses_head_stride = _stride(log, 0), _stride(log, 1)
        _check_sinks(self.sinks, first.shape[1])
        self.args = args
        self.out: Array | None = None
        self.lse: Array | None = None

    def set_results(self, out: Array, lse: Array | None) -> None:
        """Where the result goes."""
        self.out, self.lse = out, lse
        args = self.args
        _check_type(out, _BF16_TYPES, "bfloat16")
        if out.shape != self.shape:
            raise ArgumentError("out", f"shape {self.shape}", f"shape {out.shape}")
        _check_row(out)
        args.out_token_stride, args.out_head_stride = _stride(out, 0), _stride(out, 1)
        if lse is not None:
            _check_type(lse, ("float32",))
            if lse.shape != self.shape[:2]:
                raise ArgumentError("lse", f"shape {self.shape[:2]}", f"shape {lse.shape}")
            args.lse_token_stride, args.lse_head_stride = _stride(lse, 0), _stride(lse, 1)
        for array in self.all():
            if array.device != self.device:
                raise ArgumentError(array.name, "the device of outs[0]", f"{array!r}")

    def all(self) -> list[Array]:
        """Every view."""
        found = [*self.outs, *self.lses, self.sinks, self.out, self.lse]
        return [array for array in found if array is not None]

    def launch(self, kernel: Kernel, stream: int, addresses: dict[str, int] | None = None) -> None:
        """Calls the C function; addresses: in place of the views', by name."""

        def at(array: Array | None) -> int | None:
            return None if array is None else (addresses or {}).get(array.name, array.address)

        for i, (part, log) in enumerate(zip(self.outs, self.lses)):
            self.args.outs[i], self.args.lses[i] = at(part), at(log)
        self.args.out, self.args.lse, self.args.sinks = at(self.out), at(self.lse), at(self.sinks)
        lib = _native.native()
        lib.check(lib.merge(kernel.address, ctypes.addressof(self.args), stream))


def _check_same(arrays: Sequence[Array], types: tuple[str, ...], text: str, rank: int, shape: str) -> None:
    first = arrays[0]
    for array in arrays:
        _check_type(array, types, text)
        if len(array.shape) != rank or array.shape != first.shape:
            raise ArgumentError(array.name, f"shape {shape}, the same for all parts", f"shape {array.shape}")
        if any(a != b for a, b, extent in zip(array.strides, first.strides, array.shape) if extent > 1):
            raise ArgumentError(array.name, f"the strides of {first.name}, {first.strides}", f"{array.strides}")


def merge_on_cpu(parts: Parts, library: Library | None) -> None:
    """Of tensors on the CPU: as _cpu.decode."""
    device = _cpu.software_library(library)
    if device is None:
        logger.info("merge: CPU tensors run in float64 on the CPU: there is no GPU here")
        _merge_in_float64(parts)
        return
    driver = _driver.driver(device.cuda_path)
    logger.info("merge: CPU tensors run on %s (%s)", driver.name(0), device.cuda_path)
    with driver.context(0):
        kernel = device.kernel(Config(arch=device.arch_native(), kernel="merge"), device=0)
        copies = _cpu.Copies(driver)
        try:
            by_place: dict[int, int] = {}
            addresses = {}
            for array in sorted(parts.all(), key=lambda each: each.name in ("out", "lse"), reverse=True):
                # A part's out may be the result's.
                if array.address not in by_place:
                    by_place[array.address] = copies.add(array, array.name in ("out", "lse"))
                addresses[array.name] = by_place[array.address]
            parts.launch(kernel, 0, addresses)
            copies.finish()
        finally:
            copies.free()


def _merge_in_float64(parts: Parts) -> None:
    np = _reference._numpy()
    args = parts.args
    assert parts.out is not None
    logs = np.stack([_reference.as_numpy(log).astype(np.float64) for log in parts.lses])
    values = np.stack([_reference.from_bf16(_reference.as_numpy(part)) for part in parts.outs])
    sinks = -np.inf if parts.sinks is None else _reference.as_numpy(parts.sinks).astype(np.float64)[None, :]
    empty = np.isneginf(logs) | (np.isposinf(logs) if args.parts_form & 4 else False)
    natural = np.where(empty, -np.inf, logs * np.log(2) if args.parts_form & 1 else logs)
    with np.errstate(all="ignore"):
        largest = natural.max(axis=0)
        none = np.all(empty, axis=0)
        weights = np.where(empty, 0.0, np.exp(natural - largest))
        total = weights.sum(axis=0)
        merged = np.where(none, -np.inf, largest + np.log(total))
        top = np.maximum(largest, sinks)
        share = np.exp(largest - top) / (np.exp(largest - top) * total + np.exp(sinks - top))
        share = np.where(np.isposinf(sinks) & ~np.isnan(largest), 0.0, share)
        parted = np.where(empty[..., None], 0.0, values * weights[..., None]).sum(axis=0) * share[..., None]
    _reference.as_numpy(parts.out)[...] = _reference.to_bf16(np.where(none[..., None], 0.0, parted))
    if parts.lse is not None:
        forms = _reference._log_form(merged, np.broadcast_to(sinks, merged.shape), args.lse_form, False)
        empty_log = np.inf if args.lse_form & 4 else -np.inf
        _reference.as_numpy(parts.lse)[...] = np.where(none, empty_log, forms)


def _merge_generic(
    outs: Sequence[Any],
    lses: Sequence[Any],
    sinks: Any,
    out: Any,
    lse: Any,
    forms: tuple[int, int],
    wants_lse: bool,
    dependent: bool,
    library: Library | None,
    stream: Any,
) -> tuple[Any, Any]:
    first = outs[0]
    number = _generic.stream_number(stream, first)
    parts = Parts(outs, lses, sinks, forms, dependent, number)
    on_cpu = parts.device[0] == "cpu"
    if on_cpu:
        made_out = _generic._new_on_cpu(first, parts.shape, "bfloat16") if out is None else out
        made_lse = _generic._new_on_cpu(first, parts.shape[:2], "float32") if wants_lse and lse is None else lse
        parts.set_results(view("out", made_out), None if made_lse is None else view("lse", made_lse))
        merge_on_cpu(parts, library)
        return (
            _generic._returned(first, made_out) if out is None else out,
            _generic._returned(first, made_lse) if lse is None and wants_lse else lse,
        )
    library = library or _library.default_library()
    driver = _driver.driver(library.cuda_path)
    with driver.context(max(parts.device[1], 0)):
        for array in parts.all():
            array.device = ("cuda", driver.locate(array.name, array.address)) if array.numel else parts.device
    parts.device = parts.outs[0].device
    index = max(parts.device[1], 0)
    made_out, made_lse = out, lse
    if out is None:
        made_out = _generic._new_on_device(first, parts.shape, "bfloat16", driver, index)
    if wants_lse and lse is None:
        made_lse = _generic._new_on_device(first, parts.shape[:2], "float32", driver, index)
    parts.set_results(
        _generic.result_view("out", made_out, "bfloat16", index, number),
        None if made_lse is None else _generic.result_view("lse", made_lse, "float32", index, number),
    )
    with driver.context(index):
        kernel = library.kernel(Config(arch=library.arch_native(), kernel="merge"), device=index)
        parts.launch(kernel, number)
        for made in (made_out, made_lse):
            if isinstance(made, _generic.DeviceArray):
                made.written_on(number)
        _generic._keep_alive(driver, index, number, parts)
    return _generic._handed(first, made_out), _generic._handed(first, made_lse)
