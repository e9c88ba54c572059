# SPDX-License-Identifier: Apache-2.0
"""merge for PyTorch's tensors, and its operator."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from . import _library, _native, _torch, _torch_guard
from ._arrays import view
from ._config import Config
from ._errors import InvalidError
from ._library import Library
from ._merge import Parts, check_counts, merge_on_cpu
from ._native import MergeArgs
from ._plan import Launch, Layout

_MAX_RECENT = 8  # plans that are tried by their guards; others are made anew

# Numbers of outs and lses, parts_form, lse_form, dependent.
Merge = tuple[int, int, int, int, bool]


def merge(tensors: _torch.Tensors, options: Merge, wants_lse: bool, library: Library | None) -> _torch.Result:
    """out and LSE (None where it is not wanted). tensors: outs, lses, sinks, out, lse."""
    if _torch.is_seen_by_pytorch(tensors[0]):
        return _by_operator(tensors, options, wants_lse, library)
    return _first(tensors, options, wants_lse, library)


def _by_operator(tensors: Any, options: Merge, wants_lse: bool, library: Library | None) -> _torch.Result:
    """Through PyTorch's dispatcher, so that a tracer sees one operator."""
    if library is not None:
        raise InvalidError("library= cannot be traced: leave it out, or call outside torch.compile")
    num_outs, num_lses, parts_form, lse_form, dependent = options
    outs, lses, (sinks, out, lse) = tensors[:num_outs], tensors[num_outs : num_outs + num_lses], tensors[-3:]
    if out is None:
        out = torch.empty_like(outs[0], memory_format=torch.contiguous_format)
    if wants_lse and lse is None:
        lse = torch.empty_like(lses[0], memory_format=torch.contiguous_format)
    torch.ops.swa_jit.merge_out.default(list(outs), list(lses), sinks, out, lse, parts_form, lse_form, dependent)
    return out, lse


def _first(tensors: Any, options: Merge, wants_lse: bool, library: Library | None) -> _torch.Result:
    """Checks all, and makes a plan."""
    num_parts, num_lses, parts_form, lse_form, dependent = options
    check_counts(num_parts, num_lses)
    _library.check_objects(library, None)
    outs, lses, (sinks, out, lse) = tensors[:num_parts], tensors[num_parts:-3], tensors[-3:]
    parts = Parts(outs, lses, sinks, (parts_form, lse_form), dependent)
    # What is made at a launch is packed, as these are.
    made_out = outs[0].new_empty(parts.shape) if out is None else out
    made_lse = lses[0].new_empty(parts.shape[:2]) if wants_lse and lse is None else lse
    parts.set_results(view("out", made_out), None if made_lse is None else view("lse", made_lse))
    if _torch._is_on_cpu(outs[0]):
        merge_on_cpu(parts, library)
        return made_out, made_lse
    library = library or _library.default_library()
    index = outs[0].get_device()
    with _torch._on_device_of(outs[0]):
        config = Config(arch=_torch.device_of(library, index).arch, kernel="merge")
        _torch.check_capture(library, config, index)
        plan = Launch(_native.native().merge, library.kernel(config, device=index), parts.args, tuple(parts.shape))
        plan.device = index
        plan.make = _torch_guard.maker_of(outs[0].device)
    plan.set_places(_layout_of(num_parts), tensors, wants_lse)
    _torch.set_recent((None, options, wants_lse, library, None), plan, tensors, _MAX_RECENT)
    _torch.write_addresses(plan, tensors)
    return _torch.launch(plan, tensors)


@cache
def _layout_of(num_parts: int) -> Layout:
    """The tensors of a merge of so many parts."""
    words = {"sinks": MergeArgs.sinks.offset // 8, "out": MergeArgs.out.offset // 8, "lse": MergeArgs.lse.offset // 8}
    names = []
    for name in ("outs", "lses"):
        for i in range(num_parts):
            names.append(f"{name}[{i}]")
            words[names[-1]] = getattr(MergeArgs, name).offset // 8 + i
    return Layout((*names, "sinks", "out", "lse"), lambda given, _tensors: given, words)


_torch._operators.define(
    "merge_out(Tensor[] outs, Tensor[] lses, Tensor? sinks, Tensor(a!) out, Tensor(b!)? lse, int parts_form, "
    "int lse_form, bool dependent) -> ()"
)


def _operator_merge_out(
    outs: Any, lses: Any, sinks: Any, out: Any, lse: Any, parts_form: int, lse_form: int, dependent: bool
) -> None:
    options = (len(outs), len(lses), parts_form, lse_form, dependent)
    _below((*outs, *lses, sinks, out, lse), None, options, lse is not None, None, None, None)


def _below_anew(tensors: Any, _layout: None, options: Merge, wants_lse: bool, *_nothing: None) -> None:
    _first(tensors, options, wants_lse, None)


_below = _torch.quickly(_below_anew)  # every tracer


def _fake_merge_out(*_values: Any) -> None:
    return None


for _backend in ("CPU", "CUDA"):
    _torch._operators.impl("merge_out", _operator_merge_out, _backend)
torch.library.register_fake("swa_jit::merge_out", _fake_merge_out, lib=_torch._operators)
