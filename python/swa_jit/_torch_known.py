# SPDX-License-Identifier: Apache-2.0
"""The question that each call of PyTorch's asks first: are these tensors as those of a plan? Where they are, their
addresses are written into the plan's struct. The function is written out for the places of a plan's tensors, as a loop
over them takes twice as long."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ._arrays import check_storage

# An address below is one that no memory has, or has on few machines: then the storage is looked at.
LEAST_USUAL_ADDRESS = 1 << 40

Takes = Callable[[tuple[Any, ...]], bool]


def taker_of(
    plan: Any, tensors: tuple[Any, ...], guard_of: Callable[[tuple[Any, ...]], Callable[..., bool] | None]
) -> Takes | None:
    """The question of a plan, whose tensors are as these; None where PyTorch has no guard. A tensor that is there
    twice must be so again: a guard takes none twice."""
    first: dict[int, int] = {}
    same = []
    for place, _word in plan.places:
        earlier = first.setdefault(id(tensors[place]), place)
        if earlier != place:
            same.append((place, earlier))
    guard = guard_of(tuple(tensors[place] for place in first.values()))
    if guard is None:
        return None
    make = _written_out(len(tensors), plan.places, tuple(same))
    takes: Takes = make(plan.library, guard, plan.words, partial(check_storages, plan.names))
    return takes


def check_storages(names: tuple[str, ...], tensors: tuple[Any, ...]) -> None:
    """Raises where a tensor's memory is gone."""
    for name, tensor in zip(names, tensors):
        if tensor is not None and tensor.data_ptr() < LEAST_USUAL_ADDRESS and tensor.numel():
            check_storage(name, tensor)


@cache
def _written_out(count: int, places: tuple[tuple[int, int], ...], same: tuple[tuple[int, int], ...]) -> Any:
    """A function of a library, a guard, a struct's words and check_storages, which makes the question. places: of a
    call's count tensors, and their words; same: pairs of those that are one tensor."""
    there = [place for place, _word in places]
    once = [place for place in there if place not in dict(same)]
    refusals = ["library._handle is None"]  # a closed one
    refusals += [f"t{i} is {'' if i in there else 'not '}None" for i in range(count)]
    refusals += [f"t{i} is not t{earlier}" for i, earlier in same]
    # The guard would end the process at a nested one.
    refusals += [f"t{i}.is_nested" for i in once]
    refusals.append(f"not guard({', '.join(f't{i}' for i in once)})")
    lines = [
        "def make(library, guard, words, check_storages):",
        "  def takes(tensors):",
        f"    {', '.join(f't{i}' for i in range(count))}, = tensors",
        f"    if {' or '.join(refusals)}:",
        "      return False",
        *(f"    words[{word}] = a{i} = t{i}.data_ptr()" for i, word in places if i in once),
        *(f"    words[{dict(places)[i]}] = a{earlier}" for i, earlier in same),
        f"    if {' or '.join(f'a{i} < {LEAST_USUAL_ADDRESS}' for i in once)}:",
        "      check_storages(tensors)",
        "    return True",
        "  return takes",
    ]
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<swa_jit: the tensors {there} of {count}>", "exec"), scope)
    return scope["make"]
