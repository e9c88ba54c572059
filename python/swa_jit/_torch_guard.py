# SPDX-License-Identifier: Apache-2.0
"""Two short ways of PyTorch's own, which code that torch.compile made takes. One question in place of four a tensor:
whether tensors have the types, devices, shapes, strides and gradients that others had. And a new tensor without a look
at how it was asked for. Neither is a documented interface, so that both are tried out first, and not used where they do
not answer as is known: calls then look at each tensor, and ask for new ones in the documented way."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch


def _make(guards: Any, tensors: list[torch.Tensor]) -> Callable[..., bool]:
    check: Callable[..., bool] = guards(
        *tensors,
        dynamic_dims_sizes=[list(tensor.shape) for tensor in tensors],
        dynamic_dims_strides=[list(tensor.stride()) for tensor in tensors],
    ).check
    return check


def _try_out() -> Any:
    """The class, or None."""
    try:
        guards = torch._C._dynamo.guards.TensorGuards
        with torch.inference_mode(False), torch.enable_grad():
            first, second = torch.zeros(2, 8), torch.zeros(3, dtype=torch.int32)
            check = _make(guards, [first, second])
            right = [(torch.ones(2, 8), second), (torch.zeros(5, 8)[1:3], torch.ones(9, dtype=torch.int32)[2:5])]
            wrong = [
                torch.zeros(2, 9),
                torch.zeros(3, 8),
                torch.zeros(2, 8, 1),
                torch.zeros(8, 2).t(),
                torch.zeros(2, 16)[:, ::2],
                torch.zeros(1, 8).expand(2, 8),
                torch.zeros(2, 8, dtype=torch.int32),
                torch.zeros(2, 8, dtype=torch.bfloat16),
                torch.zeros(2, 8, device="meta"),
                torch.zeros(2, 8).to_sparse(),
                torch.zeros(2, 8, requires_grad=True),
                torch.nn.Parameter(torch.zeros(2, 8), requires_grad=False),
            ]
            answers = [check(*pair) for pair in right] + [not check(each, second) for each in wrong]
            answers += [not check(first, each) for each in (second.long(), torch.zeros(4, dtype=torch.int32), None)]
        return guards if all(answer is True for answer in answers) else None
    except Exception:  # an interface that is not there, or another: any error means the same
        return None


_guards = _try_out()


def guard_of(tensors: tuple[torch.Tensor, ...]) -> Callable[..., bool] | None:
    """The check of tensors, in their order; None where there is none."""
    if _guards is None:
        return None
    try:
        check = _make(_guards, list(tensors))
    except Exception:  # as above
        return None
    if not any(tensor.requires_grad for tensor in tensors):
        return check
    # Taken under no_grad only, which the check does not look at.
    is_grad_enabled = torch.is_grad_enabled
    return lambda *present: not is_grad_enabled() and check(*present)


@cache
def maker_of(device: torch.device) -> Callable[..., torch.Tensor]:
    """What makes a tensor of a shape, strides and a type on a device, which must be the current one of its kind."""
    quick: Any = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    quick = getattr(quick, f"_empty_strided_{device.type}", None)
    if quick is not None and _makes_as_asked(quick, device):
        made: Callable[..., torch.Tensor] = quick
        return made
    return lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device=device)


def _makes_as_asked(quick: Callable[..., Any], device: torch.device) -> bool:
    try:
        for dtype, shape, strides in ((torch.bfloat16, (3, 4, 8), (32, 8, 1)), (torch.float32, (0, 2), (2, 1))):
            made = quick(shape, strides, dtype)
            if (type(made), made.dtype, made.device, tuple(made.shape), made.stride(), made.requires_grad) != (
                torch.Tensor,
                dtype,
                device,
                shape,
                strides,
                False,
            ):
                return False
        return True
    except Exception:  # as above
        return False
