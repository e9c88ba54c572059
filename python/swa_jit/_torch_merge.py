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

Tensors = tuple[torch.Tensor, ...]
Result = tuple[torch.Tensor, torch.Tensor | None]


def merge(
    outs: Tensors,
    lses: Tensors,
    sinks: torch.Tensor | None,
    out: torch.Tensor | None,
    lse: torch.Tensor | None,
    forms: tuple[int, int],
    wants_lse: bool,
    dependent: bool,
    library: Library | None,
) -> Result:
    """out and LSE (None where it is not wanted)."""
    if _torch._is_compiling() or _torch._dispatch_modes() or type(outs[0]) not in _torch._PLAIN:
        if library is not None:
            raise InvalidError("library= cannot be traced: leave it out, or call outside torch.compile")
        if out is None:
            out = torch.empty_like(outs[0], memory_format=torch.contiguous_format)
        if wants_lse and lse is None:
            lse = torch.empty_like(lses[0], memory_format=torch.contiguous_format)
        torch.ops.swa_jit.merge_out.default(list(outs), list(lses), sinks, out, lse, *forms, dependent)
        return out, lse
    return _run(outs, lses, sinks, out, lse, forms, wants_lse, dependent, library)


def _run(
    outs: Tensors,
    lses: Tensors,
    sinks: torch.Tensor | None,
    out: torch.Tensor | None,
    lse: torch.Tensor | None,
    forms: tuple[int, int],
    wants_lse: bool,
    dependent: bool,
    library: Library | None,
) -> Result:
    check_counts(outs, lses)
    tensors = (*outs, *lses, sinks, out, lse)
    kind = (_layout_of(len(outs)), (*forms, dependent), wants_lse, library or _library._default, None)
    known = _torch.find_recent(kind, tensors)
    if known is not None:
        return _torch.launch(known, tensors, wants_lse)
    return _first(kind, tensors, library)


def _first(kind: _torch.Kind, tensors: tuple[Any, ...], library: Library | None) -> Result:
    """Checks all, and makes a plan."""
    layout, (parts_form, lse_form, dependent), wants_lse, _owner, _kernel = kind
    num_parts = len(layout.names) // 2 - 1
    outs, lses, (sinks, out, lse) = tensors[:num_parts], tensors[num_parts : 2 * num_parts], tensors[2 * num_parts :]
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
    plan.set_places(layout, tensors)
    _torch.set_recent(kind, plan, tensors, _MAX_RECENT)
    return _torch.launch(plan, tensors, wants_lse)


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
    _run(tuple(outs), tuple(lses), sinks, out, lse, (parts_form, lse_form), lse is not None, dependent, None)


def _fake_merge_out(*_values: Any) -> None:
    return None


for _backend in ("CPU", "CUDA"):
    _torch._operators.impl("merge_out", _operator_merge_out, _backend)
torch.library.register_fake("swa_jit::merge_out", _fake_merge_out, lib=_torch._operators)
