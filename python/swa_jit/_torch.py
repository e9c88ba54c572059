# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the quick way for tensors on a device, and the operators that torch.compile and other tracers see."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import _cpu, _library, _native, _torch_guard
from ._arrays import check_is_plain, check_storage, fail_without_memory, view
from ._config import Config
from ._errors import ArgumentError, InvalidError
from ._library import Kernel, Library
from ._plan import FULL, Device, Launch, Layout, Plan, check_kernel, choose
from ._problem import TENSORS, Options, build
from ._torch_known import LEAST_USUAL_ADDRESS, Takes, taker_of

_Q, _OUT, _LSE, _WORKSPACE = (TENSORS.index(name) for name in ("q", "out", "lse", "workspace"))
_BFLOAT16, _FLOAT32 = torch.bfloat16, torch.float32
_MAX_PLANS = 1024
_MAX_RECENT = 3  # plans that are asked whether they take a call's tensors, of a kind of call
_MAX_TAKERS = 4  # of a plan

# All of a call but its tensors. Of a decode: layout, options as given, whether it wants an LSE, library, kernel.
Kind = tuple[Any, ...]


class _Local(threading.local):
    """What belongs to a thread."""

    def __init__(self) -> None:
        # By kind and what the tensors are; and the last few of a kind with their questions.
        self.plans: dict[tuple[Any, ...], Plan] = {}
        self.recent: dict[Kind, list[tuple[Takes, Launch]]] = {}
        # By device and stream: one with its address and its size.
        self.workspaces: dict[tuple[int, int], tuple[torch.Tensor, int, int]] = {}


_local = _Local()
_devices: dict[tuple[Library, int], Device] = {}
_raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_current_device: Any = getattr(torch._C, "_cuda_getDevice", None)
_dispatch_modes: Any = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
_is_compiling = torch.compiler.is_compiling
# As above, but false in what torch.export traces without TorchDynamo, by modes.
_is_traced = torch.compiler.is_dynamo_compiling
_is_grad_enabled = torch.is_grad_enabled
_PLAIN = (torch.Tensor, torch.nn.Parameter)

Tensors = tuple[torch.Tensor | None, ...]
Result = tuple[torch.Tensor, torch.Tensor | None]


def quickly(anew: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors, layout, options as given, whether an LSE is wanted, library, kernel and stream, which runs
    a call by a recent plan that takes it, or else by anew. What a plan depends on is compared here; all else was
    checked when the plan was made."""

    def run(
        tensors: Tensors,
        layout: Any,
        given: tuple[Any, ...],
        wants_lse: bool,
        library: Library | None,
        kernel: Kernel | None,
        stream: Any,
    ) -> Any:
        if stream is None and not _is_traced() and not _dispatch_modes():
            known = None
            kind = (layout, given, wants_lse, library or _library._default, kernel)
            try:
                for takes, plan in _local.recent.get(kind, ()):
                    if takes(tensors):
                        known = plan  # which has the tensors' addresses
                        break
            except (AttributeError, TypeError, RuntimeError):
                pass  # no tensor or one without memory, or an option that has no hash: anew finds which
            if known is not None:
                found = launch(known, tensors)
                return found if wants_lse else found[0]
        return anew(tensors, layout, given, wants_lse, library, kernel, stream)

    return run


def decode(
    tensors: Tensors,
    layout: Layout,
    given: tuple[Any, ...],
    wants_lse: bool,
    library: Library | None,
    kernel: Kernel | None,
) -> Result:
    """out and LSE (None where it is not wanted) of tensors in a layout's order. given: options as the caller has."""
    if is_seen_by_pytorch(tensors[_Q]):
        return _by_operator(layout.spread(given, tensors), layout.options(given, tensors), wants_lse, library, kernel)
    kind = (layout, given, wants_lse, library or _library._default, kernel)
    return _run_by_key(tensors, kind, library)


def is_seen_by_pytorch(tensor: Any) -> bool:
    """Whether a tracer, a mode or a tensor's own type is to see one operator."""
    return bool(_is_compiling() or _dispatch_modes() or type(tensor) not in _PLAIN)


def _run_by_key(tensors: Tensors, kind: Kind, library: Library | None) -> Result:
    """By looking at each tensor."""
    layout, given, wants_lse, _owner, kernel = kind
    key: tuple[Any, ...] = ()
    plan = None
    try:
        parts: list[Any] = [kind]
        for tensor in tensors:
            if tensor is None:
                parts.append(None)
            else:
                # Of a packed tensor the shape says the strides, and asking costs half as much.
                strides = tensor.is_contiguous() or tensor.stride()
                parts += (tensor.shape, strides, tensor.dtype, tensor.get_device())
        key = tuple(parts)
        plan = _local.plans.get(key)
    except (AttributeError, TypeError, RuntimeError):
        pass  # as in again, or a tensor that has no strides; _first says which
    if plan is None:
        return _first(tensors, layout, given, wants_lse, library, kernel, key)
    if plan.library._handle is None:
        _forget_plans()
        return _first(tensors, layout, given, wants_lse, library, kernel, key)
    for name, tensor in zip(layout.names, tensors):
        if tensor is not None:
            check_is_plain(name, tensor)
    if _is_grad_enabled():
        _check_grad(tensors, layout)
    set_recent(kind, plan, tensors)
    write_addresses(plan, tensors)
    return launch(plan, tensors)


def _forget_plans() -> None:
    _local.plans.clear()
    _local.recent.clear()


def set_recent(kind: Kind, plan: Launch, tensors: Tensors, most: int = _MAX_RECENT) -> None:
    """The next call of a kind asks this plan first."""
    if type(tensors[_Q]) not in _PLAIN:
        return  # below an operator, which the next call is to pass again
    takes = _question_of(plan, tensors)
    if takes is not None:
        if len(_local.recent) >= _MAX_PLANS:
            _local.recent.clear()
        entries = _local.recent.setdefault(kind, [])
        entries.insert(0, (takes, plan))
        del entries[most:]


def _question_of(plan: Launch, tensors: Tensors) -> Takes | None:
    """One that takes these tensors, which are as the plan's. A mode, such as inference mode, can ask for one of its
    own; no more than a few are kept."""
    for takes in plan.takers:
        if takes(tensors):
            return takes
    made = taker_of(plan, tensors, _torch_guard.guard_of) if len(plan.takers) < _MAX_TAKERS else None
    if made is not None:
        plan.takers.append(made)
    return made


def _check_grad(tensors: Tensors, layout: Layout) -> None:
    for name, tensor in zip(layout.names, tensors):
        if tensor is not None and tensor.requires_grad:
            raise ArgumentError(
                name, "no gradient to be asked for (call under torch.no_grad(), or detach it)", "requires_grad=True"
            )


def write_addresses(plan: Launch, tensors: Tensors) -> None:
    """Of tensors that are as the plan's."""
    for place, word in plan.places:
        tensor: Any = tensors[place]
        try:
            plan.words[word] = address = tensor.data_ptr()
        except RuntimeError as error:
            fail_without_memory(plan.names[place], tensor, error)
        if address < LEAST_USUAL_ADDRESS and tensor.numel():
            check_storage(plan.names[place], tensor)


def launch(plan: Launch, tensors: Tensors) -> Result:
    """Makes what is to be made and calls the C function. The tensors' addresses are in the plan."""
    device = plan.device
    if _current_device() != device:
        # New tensors, and the default stream's number, 0, are the current device's.
        with torch.cuda.device(device):
            return launch(plan, tensors)
    out: Any
    lse: Any = None
    if plan.out_place >= 0:
        out = tensors[plan.out_place]
    else:
        out = plan.make(plan.out_shape, plan.out_strides, _BFLOAT16)
        plan.words[plan.out_word] = out.data_ptr()
    if plan.makes_lse:
        lse = plan.make(plan.lse_shape, plan.lse_strides, _FLOAT32)
        plan.words[plan.lse_word] = lse.data_ptr()
    elif plan.lse_place >= 0:
        lse = tensors[plan.lse_place]
    if plan.needs_workspace:
        _give_workspace(plan, tensors[_Q])
    if plan.out_shape[0]:
        status = plan.function(plan.kernel, plan.pointer, _raw_stream(device))
        if status:
            _native.native().check(status)
    return out, lse


def _give_workspace(plan: Any, q: Any) -> None:
    """One a stream, zeroed once. What is captured gets one of its own: a graph may run beside the stream it was
    captured on."""
    if torch.cuda.is_current_stream_capturing():
        # The graph keeps its memory.
        workspace = torch.zeros(plan.workspace_bytes, dtype=torch.uint8, device=q.device)
        plan.set_workspace(workspace.data_ptr(), plan.workspace_bytes)
        return
    stream = (plan.device, _raw_stream(plan.device))
    held = _local.workspaces.get(stream)
    if held is None or held[2] < plan.workspace_bytes:
        workspace = torch.zeros(plan.workspace_bytes, dtype=torch.uint8, device=q.device)
        held = _local.workspaces[stream] = (workspace, workspace.data_ptr(), plan.workspace_bytes)
    plan.set_workspace(held[1], held[2])


def _first(
    tensors: Tensors,
    layout: Layout,
    given: tuple[Any, ...],
    wants_lse: bool,
    library: Library | None,
    kernel: Kernel | None,
    key: tuple[Any, ...],
) -> Result:
    """The first call with such tensors in this thread: checks all, and makes the plan."""
    spread = layout.spread(given, tensors)
    _library.check_objects(library, kernel)
    for name, tensor in zip(TENSORS, spread):
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise ArgumentError(name, "a torch.Tensor, as q is", type(tensor).__qualname__)
    arrays = {name: None if tensor is None else view(name, tensor) for name, tensor in zip(TENSORS, spread)}
    options = layout.options(given, tensors)
    wants_new_lse = wants_lse and arrays["lse"] is None
    problem = build(arrays, options)
    if wants_new_lse:
        problem = problem._replace(config=problem.config.replace(lse=True))
    q: Any = tensors[_Q]
    shape = (problem.num_tokens, problem.num_heads, problem.out_dim)
    if _is_on_cpu(q):
        out: Any = spread[_OUT] if spread[_OUT] is not None else q.new_empty(shape)
        lse = q.new_empty(shape[:2], dtype=torch.float32) if wants_new_lse else spread[_LSE]
        filled = dict(arrays, out=view("out", out), lse=None if lse is None else view("lse", lse))
        _cpu.decode(filled, problem, options, library, kernel)
        return out, lse
    owner = kernel.library if kernel is not None else library or _library.default_library()
    with _on_device_of(q):
        plan = _plan_of(problem, options, owner, kernel, q.get_device())
        plan.make = _torch_guard.maker_of(q.device)
    plan.set_places(layout, tensors, wants_lse)
    if key:
        _keep(plan, tensors, key)
    write_addresses(plan, tensors)
    return launch(plan, tensors)


def _is_on_cpu(tensor: torch.Tensor) -> bool:
    return bool(tensor.device.type == "cpu")


@contextlib.contextmanager
def _on_device_of(tensor: torch.Tensor) -> Iterator[None]:
    """Its device is the current one inside, and the device's context this thread's, which may have had none."""
    with torch.cuda.device(tensor.device):
        torch.cuda.set_device(tensor.device)
        yield


def _keep(plan: Plan, tensors: Tensors, key: tuple[Any, ...]) -> None:
    """For the next call with such tensors."""
    if len(_local.plans) >= _MAX_PLANS:
        _forget_plans()
    with contextlib.suppress(TypeError):  # an option that has no hash, such as NumPy's numbers of no dimension
        _local.plans[key] = plan
        set_recent(key[0], plan, tensors)


def _plan_of(problem: Any, options: Options, library: Library, kernel: Kernel | None, index: int) -> Plan:
    if kernel is not None:
        check_kernel(kernel, problem)
        num_splits = options.num_splits or 1
    else:
        config, num_splits = choose(problem, options, device_of(library, index))
        check_capture(library, config, index)
        kernel = library.kernel(config, device=index)
    plan = Plan(kernel, problem, num_splits)
    plan.device = index
    return plan


def device_of(library: Library, index: int) -> Device:
    """What is known of a device, which is current; asked once."""
    device = _devices.get((library, index))
    if device is None:
        sms = torch.cuda.get_device_properties(index).multi_processor_count
        device = _devices[(library, index)] = Device(index, library.arch_native(), sms)
    return device


def check_capture(library: Library, config: Config, index: int) -> None:
    """Raises where the stream is captured and the kernel is not loaded: loading would break the capture."""
    if not library.holds(config, index) and torch.cuda.is_current_stream_capturing():
        raise InvalidError(
            f"the stream is being captured, and the kernel of {config.to_text()} is not loaded yet, which would break "
            "the capture: make the same call once before it"
        )


# ---- operators ------------------------------------------------------------------------------------------------

_OPTIONAL = TENSORS[4:13]
_TENSOR_SCHEMA = "Tensor q, Tensor kv, Tensor indices, Tensor lens, " + ", ".join(
    f"Tensor? {name}" for name in _OPTIONAL
)
_OPTION_SCHEMA = (
    "SymInt? block_size, float? scale, SymInt? window_size, str? kv_format, float kv_scale, float v_scale, "
    "float soft_cap, SymInt? extra_block_size, str? extra_format, float extra_scale, int lse_form, int? num_splits, "
    "bool dependent, int? head_group, int? kv_tile, int? cluster_size"
)
_operators: Any = torch.library.Library("swa_jit", "DEF")  # type: ignore[no-untyped-call,unused-ignore]
_operators.define(f"decode({_TENSOR_SCHEMA}, Tensor? workspace, bool wants_lse, {_OPTION_SCHEMA}) -> (Tensor, Tensor)")
_operators.define(
    f"decode_out({_TENSOR_SCHEMA}, Tensor(a!) out, Tensor(b!)? lse, Tensor? workspace, {_OPTION_SCHEMA}) -> ()"
)
_NUM_INPUTS = TENSORS.index("out")


def _below_anew(tensors: Tensors, layout: Layout, given: Any, wants_lse: bool, *_nothing: None) -> Any:
    found = _run_by_key(tensors, (layout, given, wants_lse, _library._default, None), None)
    return found if wants_lse else found[0]


_below = quickly(_below_anew)  # every tracer


def _operator_decode(*values: Any) -> tuple[torch.Tensor, torch.Tensor]:
    inputs, workspace, wants_lse = values[:_NUM_INPUTS], values[_NUM_INPUTS], values[_NUM_INPUTS + 1]
    options = values[_NUM_INPUTS + 2 :]
    found: Any = _below((*inputs, None, None, workspace), FULL, options, wants_lse, None, None, None)
    return found if wants_lse else (found, inputs[0].new_empty((0,), dtype=torch.float32))


def _operator_decode_out(*values: Any) -> None:
    num_tensors = len(TENSORS)
    _below(tuple(values[:num_tensors]), FULL, values[num_tensors:], values[_LSE] is not None, None, None, None)


def _fake_decode(*values: Any) -> tuple[torch.Tensor, torch.Tensor]:
    q, v, wants_lse = values[_Q], values[TENSORS.index("v")], values[_NUM_INPUTS + 1]
    if q.dim() != 3:
        raise ArgumentError("q", "shape (T, num_heads, head_dim)", f"shape {tuple(q.shape)}")
    out = q.new_empty((q.shape[0], q.shape[1], q.shape[2] if v is None else v.shape[-1]), dtype=torch.bfloat16)
    return out, q.new_empty((q.shape[0], q.shape[1]) if wants_lse else (0,), dtype=torch.float32)


def _fake_decode_out(*_values: Any) -> None:
    return None


for _backend in ("CPU", "CUDA"):
    _operators.impl("decode", _operator_decode, _backend)
    _operators.impl("decode_out", _operator_decode_out, _backend)
torch.library.register_fake("swa_jit::decode", _fake_decode, lib=_operators)
torch.library.register_fake("swa_jit::decode_out", _fake_decode_out, lib=_operators)


def _by_operator(
    tensors: Tensors, options: Options, wants_lse: bool, library: Library | None, kernel: Kernel | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Through PyTorch's dispatcher, so that a tracer sees one operator."""
    for name, tensor in zip(TENSORS, tensors):
        if isinstance(tensor, torch.Tensor) and tensor.is_nested:
            raise ArgumentError(name, "a strided tensor", "a nested one")
    if library is not None or kernel is not None:
        raise InvalidError("library= and kernel= cannot be traced: leave them out, or call outside torch.compile")
    inputs, out, lse, workspace = tensors[:_NUM_INPUTS], tensors[_OUT], tensors[_LSE], tensors[_WORKSPACE]
    if out is None and lse is None:
        made = torch.ops.swa_jit.decode.default(*inputs, workspace, wants_lse, *options)
        return made[0], made[1] if wants_lse else None
    q, v = tensors[_Q], tensors[TENSORS.index("v")]
    assert q is not None
    if out is None:
        out = q.new_empty((q.shape[0], q.shape[1], q.shape[2] if v is None else v.shape[-1]))
    if lse is None and wants_lse:
        lse = q.new_empty((q.shape[0], q.shape[1]), dtype=torch.float32)
    torch.ops.swa_jit.decode_out.default(*inputs, out, lse, workspace, *options)
    return out, lse
