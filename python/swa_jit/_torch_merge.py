# SPDX-License-Identifier: Apache-2.0
"""merge for PyTorch's tensors, and its operator."""

from __future__ import annotations

from typing import Any

import torch

from . import _library, _torch
from ._arrays import view
from ._config import Config
from ._errors import InvalidError
from ._library import Library
from ._merge import Parts, merge_on_cpu

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
    parts = Parts(outs, lses, sinks, forms, dependent)
    if out is None:
        out = outs[0].new_empty(parts.shape)
    if wants_lse and lse is None:
        lse = lses[0].new_empty(parts.shape[:2])
    parts.set_results(view("out", out), None if lse is None else view("lse", lse))
    if outs[0].device.type == "cpu":
        merge_on_cpu(parts, library)
        return out, lse
    library = library or _library.default_library()
    index = outs[0].get_device()
    with torch.cuda.device(index):
        torch.cuda.set_device(index)
        config = Config(arch=_torch.device_of(library, index).arch, kernel="merge")
        _torch.check_capture(library, config, index)
        parts.launch(library.kernel(config, device=index), _torch._raw_stream(index))
    return out, lse


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
