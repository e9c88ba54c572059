# SPDX-License-Identifier: Apache-2.0
"""The quick way of PyTorch's tensors on a device, without a device: CPU tensors pass for those of one whose memory is
the host's and whose kernels are the C reference. What test_gpu.py proves on a GPU, less what only a GPU has."""

import contextlib
import threading

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import cases
import swa_jit
from swa_jit import _plan, _torch, _torch_guard, _torch_merge, vllm
from swa_jit._plan import Device


@pytest.fixture
def device(monkeypatch, fake):
    """CPU tensors are on device -1; the library object whose driver runs them."""
    monkeypatch.setattr(_torch, "_is_on_cpu", lambda _tensor: False)
    monkeypatch.setattr(_torch, "_on_device_of", lambda _tensor: contextlib.nullcontext())
    monkeypatch.setattr(_torch, "_raw_stream", lambda _device: 0)
    monkeypatch.setattr(_torch, "_current_device", lambda: -1)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setitem(_torch._devices, (fake, -1), Device(-1, "sm_90a", 132))
    before = swa_jit.set_default_library(fake)
    _torch._forget_plans()
    yield fake
    _torch._forget_plans()
    swa_jit.set_default_library(before)


def case(**wanted):
    arguments, options = cases.problem(**{"num_heads": 8, "block_size": 16, "num_blocks": 16, **wanted})
    tensors = [torch.from_numpy(value) for value in arguments]
    tensors[0] = tensors[0].view(torch.bfloat16)
    return arguments, options, tensors, {name: torch.from_numpy(value) for name, value in options.items()}


def bits(tensor):
    return tensor.detach().contiguous().view(torch.uint16).numpy()


def expected(arguments, options):
    """NumPy's tensors are no PyTorch's: they take the float64 path, by a library object without a device."""
    with swa_jit.Library(cuda_path="/nowhere/libcuda.so.1") as none:
        return swa_jit.decode(*arguments, lse=True, library=none, **options)


def test_plan_is_kept_for_tensors_of_the_same_kind(device):
    for seed in range(3):
        arguments, options, tensors, rest = case(seed=seed)
        out, lse = swa_jit.decode(*tensors, lse=True, **rest)
        right = expected(arguments, options)
        assert cases.worst_error(bits(out), right[0]) < 1e-4
        assert np.allclose(lse.numpy(), right[1], atol=1e-4, equal_nan=True)
    assert len(_torch._local.plans) == 1
    swa_jit.decode(*tensors, **rest)
    assert len(_torch._local.plans) == 2


def test_other_strides_types_and_counts_have_plans_of_their_own(device):
    arguments, options, tensors, rest = case(seed=4, num_tokens=4)
    q, kv, indices, lens = tensors
    wide = torch.zeros(4, 24, 512, dtype=torch.bfloat16)
    wide[:, 8:16] = q
    roomy = torch.zeros(4, 200, dtype=torch.int32)
    roomy[:, :128] = indices
    right = expected(arguments, options)[0]
    calls = [
        (q, kv, indices, lens),
        (wide[:, 8:16], kv, indices, lens),
        (q, kv, roomy[:, :128], lens),
        (q, kv.view(torch.float8_e4m3fn), indices, lens),
    ]
    for number, given in enumerate(calls, 1):
        for _ in range(2):
            assert cases.worst_error(bits(swa_jit.decode(*given, **rest)), right) < 1e-4
        assert len(_torch._local.plans) == number
    # The device is told no types, and takes every index for int32: only the plan is looked at.
    swa_jit.decode(q, kv, indices.long(), lens.long(), **rest)
    assert len(_torch._local.plans) == number + 1
    fewer = swa_jit.decode(q[:2], kv, indices, lens, **rest)
    assert cases.worst_error(bits(fewer), right[:2]) < 1e-4


def test_calls_in_turn_are_known_by_their_guards(device, monkeypatch):
    """Two kinds of call and two or three shapes of each, in and out of inference mode: after their first calls none is
    looked at tensor by tensor."""
    problems = [case(seed=30 + i, num_tokens=1 + i) for i in range(2)]
    looked = []
    by_key = _torch._run_by_key
    monkeypatch.setattr(_torch, "_run_by_key", lambda *given: looked.append(1) or by_key(*given))

    def step():
        for _arguments, _options, tensors, rest in problems:
            swa_jit.decode(*tensors, lse=True, **rest)
            out = swa_jit.native_swa_decode_attention(*tensors[:2], rest["inv_scale"], *tensors[2:], 16, 0.05)
        # The last of them again, into a tensor that is given.
        swa_jit.native_swa_decode_attention(*tensors[:2], rest["inv_scale"], *tensors[2:], 16, 0.05, out=out)

    for _ in range(2):
        step()
        with torch.inference_mode():
            step()
    looked.clear()
    with torch.inference_mode():
        step()
    assert len(_torch._local.plans) == 5
    assert len(looked) == (0 if _torch_guard._guards is not None else 5)


def test_one_tensor_can_be_given_twice(device):
    arguments, options, tensors, rest = case(seed=41, fmt="bf16", num_tokens=2)
    q, kv, indices, lens = tensors
    right = expected((*arguments[:2], *arguments[2:]), {**options, "v": arguments[1]})
    for _ in range(3):
        out, _lse = swa_jit.decode(q, kv, indices, lens, v=kv, lse=True, num_splits=1, **rest)
        assert cases.worst_error(bits(out), right[0]) < 1e-4
    assert len(_torch._local.plans) == 1


def test_without_pytorchs_short_ways_the_results_are_the_same(device, monkeypatch):
    arguments, options, tensors, rest = case(seed=40, num_tokens=2)
    right = expected(arguments, options)
    monkeypatch.setattr(_torch_guard, "_guards", None)
    monkeypatch.setattr(torch._C._dynamo.guards, "_empty_strided_cpu", lambda *_given: torch.zeros(1))
    _torch_guard.maker_of.cache_clear()
    for _ in range(2):
        out, lse = swa_jit.decode(*tensors, lse=True, **rest)
        assert cases.worst_error(bits(out), right[0]) < 1e-4 and np.allclose(lse.numpy(), right[1], atol=1e-4)
    assert not _torch._local.recent
    _torch_guard.maker_of.cache_clear()


def test_results_are_written_where_they_are_wanted(device):
    arguments, options, tensors, rest = case(seed=5)
    right = expected(arguments, options)
    out, lse = torch.zeros(8, 3, 512, dtype=torch.bfloat16), torch.zeros(8, 3)
    for _ in range(2):
        found = swa_jit.decode(*tensors, out=out.transpose(0, 1), lse=lse.t(), **rest)
        assert found[0].data_ptr() == out.data_ptr()
        assert cases.worst_error(bits(out.transpose(0, 1)), right[0]) < 1e-4
        assert np.allclose(lse.t().numpy(), right[1], atol=1e-4)
        out.zero_()


def test_threads_do_not_share_a_plan(device):
    """Eight threads, each with data of its own, all of one shape: an address of another's would show."""
    problems = [case(seed=20 + i) for i in range(8)]
    rights = [expected(arguments, options)[0] for arguments, options, _tensors, _rest in problems]
    right = [0] * 8

    def work(number):
        _arguments, _options, tensors, rest = problems[number]
        for _ in range(30):
            right[number] += cases.worst_error(bits(swa_jit.decode(*tensors, **rest)), rights[number]) < 1e-4

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [30] * 8


def test_what_changes_behind_a_plan_is_told(device):
    _arguments, _options, tensors, rest = case(seed=6)
    q, kv, indices, lens = tensors
    swa_jit.decode(q, kv, indices, lens, **rest)
    wanting = q.clone().requires_grad_()
    with pytest.raises(swa_jit.ArgumentError, match="q: expected no gradient"):
        swa_jit.decode(wanting, kv, indices, lens, **rest)
    with torch.no_grad():
        for _ in range(2):
            assert swa_jit.decode(wanting, kv, indices, lens, **rest).any()
    for _ in range(2):
        with pytest.raises(swa_jit.ArgumentError, match="q: expected no gradient"):
            swa_jit.decode(wanting, kv, indices, lens, **rest)
    freed = kv.clone()
    freed.untyped_storage().resize_(0)
    with pytest.raises(swa_jit.ArgumentError, match="kv: expected a storage of"):
        swa_jit.decode(q, freed, indices, lens, **rest)
    with pytest.raises(swa_jit.InvalidError, match="overlap"):
        swa_jit.decode(q, kv, indices, lens, out=q, **rest)
    # Of the same shape, type and device as those that a plan is kept for.
    for name, value, text in [
        ("q", torch._neg_view(q), "q: expected a tensor as its memory has it"),
        ("q", q.to_sparse(), "q: expected a strided tensor"),
        ("q", q.to_mkldnn(), "q: expected a strided tensor"),
        ("kv", kv.to_sparse(), "kv: expected a strided tensor"),
        (
            "indices",
            torch.nested.nested_tensor(list(indices)),
            "indices: expected a strided tensor, given a nested one",
        ),
    ]:
        with pytest.raises(swa_jit.ArgumentError, match=text):
            swa_jit.decode(**{"q": q, "kv": kv, "indices": indices, "lens": lens, name: value}, **rest)
    with pytest.raises(swa_jit.ArgumentError, match="q: expected a tensor with memory of its own"):
        torch.func.vmap(lambda each: swa_jit.decode(each, kv, indices, lens, **rest))(torch.stack([q, q]))
    assert swa_jit.decode(q, kv, indices, lens, **rest).any()


class Seen(TorchDispatchMode):
    """Notes the operators that are called inside."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Marked(torch.Tensor):
    """PyTorch gives what an operator makes of one its type."""


def test_what_is_to_see_an_operator_sees_it_behind_a_plan_too(device):
    """Modes, subclasses and both ways of tracing, each after calls that plans are kept for; and they leave none."""
    _arguments, _options, tensors, rest = case(seed=43)
    outs = torch.randn(2, 3, 8, 512).bfloat16().unbind(0)
    lses = torch.randn(2, 3, 8).unbind(0)

    def step(q):
        made = swa_jit.decode(q, *tensors[1:], lse=True, **rest)
        kept = swa_jit.decode(q, *tensors[1:], out=torch.empty_like(q), **rest)
        return *made, kept, swa_jit.merge([q, *outs], [lses[0], *lses])

    q = tensors[0]
    right = [step(q) for _ in range(3)][-1]
    operators = ["swa_jit.decode.default", "swa_jit.decode_out.default", "swa_jit.merge_out.default"]
    for _ in range(2):
        with Seen() as outer, Seen() as inner:
            found = step(q)
        assert all(map(torch.equal, found, right))
        assert [name for name in outer.names if "swa_jit" in name] == operators
        assert [name for name in inner.names if "swa_jit" in name] == operators
        assert type(step(q.as_subclass(Marked))[0]) is Marked
        assert type(step(q)[0]) is torch.Tensor

    class Step(torch.nn.Module):
        def forward(self, q):
            return step(q)

    graphs = [make_fx(step)(q), torch.export.export(Step(), (q,), strict=False).graph_module]
    torch.compile(step, fullgraph=True, backend=lambda graph, _given: graphs.append(graph) or graph)(q)
    for graph in graphs:
        assert all(name in graph.code for name in operators)
    assert all(map(torch.equal, step(q), right))


def test_options_of_any_type_are_taken_or_told(device):
    _arguments, _options, tensors, rest = case(seed=7)
    right = swa_jit.decode(*tensors, scale=0.25, **rest)
    for scale in (np.float64(0.25), np.array(0.25), np.float32(0.25)):
        for _ in range(2):
            assert torch.equal(swa_jit.decode(*tensors, scale=scale, **rest), right)
    for scale in (torch.tensor(0.25), "0.25", [0.25]):
        with pytest.raises(swa_jit.ArgumentError, match="scale: expected a Python number"):
            swa_jit.decode(*tensors, scale=scale, **rest)


def test_merges_have_plans_too(device, monkeypatch):
    """Found by their guards, with the addresses of each call; what changes behind one is told."""
    made = []
    launches = _torch_merge.Launch
    monkeypatch.setattr(_torch_merge, "Launch", lambda *given: made.append(1) or launches(*given))

    def merge(seed, num_tokens, **rest):
        torch.manual_seed(seed)
        outs = [torch.randn(num_tokens, 8, 64).bfloat16() for _ in range(3)]
        lses = [torch.randn(num_tokens, 8) for _ in range(3)]
        found = swa_jit.merge(outs, lses, lse=True, **rest)
        plain = [[each.view(torch.uint16).numpy() for each in outs], [each.numpy() for each in lses]]
        with swa_jit.Library(cuda_path="/nowhere/libcuda.so.1") as none:
            right = swa_jit.merge(*plain, lse=True, library=none, sinks=rest["sinks"].numpy() if rest else None)
        assert cases.worst_error(bits(found[0]), right[0]) < 5e-3 and np.allclose(found[1].numpy(), right[1], atol=1e-4)
        return outs, lses

    for seed in range(3):
        for num_tokens in (2, 5):
            merge(seed, num_tokens)
            outs, lses = merge(seed, num_tokens, sinks=torch.linspace(-1, 1, 8))
    assert len(made) == (4 if _torch_guard._guards is not None else 12)
    given = swa_jit.merge(outs, lses)
    out = outs[0].clone()
    assert swa_jit.merge([out, *outs[1:]], lses, out=out) is out and torch.equal(out, given)
    if _torch_guard._guards is not None:
        # Known by its plan too, with other addresses, and never taken for one whose out is apart.
        before = len(made)
        for parts in (outs, [each.clone() for each in reversed(outs)]):
            right = swa_jit.merge(parts, lses)
            assert torch.equal(swa_jit.merge(parts, lses, out=parts[0]), right)
        assert len(made) == before
        apart = torch.empty_like(out)
        right = swa_jit.merge(outs, lses)
        assert torch.equal(swa_jit.merge(outs, lses, out=apart), right) and len(made) == before + 1
    freed = outs[1].clone()
    freed.untyped_storage().resize_(0)
    for name, value, text in [
        (r"outs[1]", freed, r"outs\[1\]: expected a storage"),
        (r"outs[1]", outs[1].float(), r"outs\[1\]: expected bfloat16"),
        (r"outs[1]", outs[1].clone().requires_grad_(), r"outs\[1\]: expected no gradient"),
        (r"lses[1]", torch.nested.nested_tensor(list(lses[1])), r"lses\[1\]: expected a strided tensor"),
        (r"lses[1]", lses[1][:1], r"lses\[1\]: expected shape"),
    ]:
        changed = [value if name == f"{kind}[1]" else parts[1] for kind, parts in (("outs", outs), ("lses", lses))]
        with pytest.raises(swa_jit.ArgumentError, match=text):
            swa_jit.merge([outs[0], changed[0], outs[2]], [lses[0], changed[1], lses[2]])


def test_a_layers_steps_have_plans_too(device, monkeypatch):
    """By the caches, heads and sinks that vLLM passes, whose views are made for the first step alone."""
    looked = []
    by_key = _torch._run_by_key
    monkeypatch.setattr(_torch, "_run_by_key", lambda *given: looked.append(1) or by_key(*given))
    for num_heads, with_extra in ((8, True), (8, False), (16, True)):
        for seed in range(3):
            _arguments, _options, (q, kv, indices, lens), _rest = case(seed=50 + seed, fmt="footer_584", num_heads=16)
            extra_kv, sinks = kv.flip(0), torch.linspace(-1, seed, 16)
            rest = {"scale": 0.05, "sinks": sinks, "output": torch.full_like(q, float("nan")), "num_heads": num_heads}
            names = {"kv": extra_kv, "indices": indices + 1, "lens": lens} if with_extra else {}
            used = {f"extra_{name}": value for name, value in names.items()}
            right = swa_jit.decode(q[:, :num_heads], kv, indices, lens, scale=0.05, sinks=sinks[:num_heads], **used)
            looked.clear()
            if with_extra:
                used["extra_cache"] = used.pop("extra_kv")[:, :, None]
            vllm.serve(q, kv[:, :, None], indices[:, None], lens, **rest, **used)
            output = rest["output"]
            assert torch.equal(output[:, :num_heads], right) and not output[:, num_heads:].any()
            assert len(looked) == (0 if seed and _torch_guard._guards is not None else 1)
    for name, value, text in [
        ("num_heads", 17, "output: expected q's shape .*, with 17 heads or more"),
        ("output", output[:, :8], "output: expected q's shape"),
        ("output", output.float(), "out: expected bfloat16"),
        ("swa_lens", lens[:1], "lens: expected a length for each of the 3 tokens"),
        ("sinks", sinks[:8], "sinks: expected a sink for each of the 16 heads"),
        ("q", torch.nested.nested_tensor(list(q)), "q: expected a strided tensor, given a nested one"),
        ("extra_cache", torch.nested.nested_tensor(list(kv)), "extra_kv: expected a strided tensor, given a nested"),
        ("extra_cache", kv.view(-1), "extra_kv: expected shape"),
        ("extra_cache", 5, "extra_kv: expected a torch.Tensor, given int"),
        ("swa_cache", None, "kv: expected a torch.Tensor, given NoneType"),
        ("q", q.numpy, "q: expected a torch.Tensor"),
        ("q", q[:, 0], r"q: expected shape \(T, padded heads, head_dim\), given shape \(3, 512\)"),
    ]:
        given = {"q": q, "swa_cache": kv[:, :, None], "swa_indices": indices[:, None], "swa_lens": lens, **rest, **used}
        with pytest.raises(swa_jit.ArgumentError, match=text):
            vllm.serve(**{**given, name: value})


def test_closed_library_is_replaced_or_told(device, tmp_path):
    _arguments, _options, tensors, rest = case(seed=8)
    other = swa_jit.Library(cache_dir=tmp_path, cuda_path=device.cuda_path)
    _torch._devices[(other, -1)] = Device(-1, "sm_90a", 132)
    swa_jit.decode(*tensors, library=other, **rest)
    other.close()
    with pytest.raises(swa_jit.InvalidError, match="closed"):
        swa_jit.decode(*tensors, library=other, **rest)
    assert swa_jit.decode(*tensors, **rest).any()


def test_splits_get_a_workspace(device):
    arguments, options, tensors, rest = case(seed=9, fmt="footer_584", num_tokens=1, width=256)
    right = expected(arguments, options)[0]
    given = torch.zeros(1 << 22, dtype=torch.uint8)
    for workspace in (None, given):
        for _ in range(2):
            out = swa_jit.decode(*tensors, num_splits=2, workspace=workspace, **rest)
            assert cases.worst_error(bits(out), right) < 1e-4
    with pytest.raises(swa_jit.InvalidError, match="workspace_bytes"):
        swa_jit.decode(*tensors, num_splits=2, workspace=given[:64], **rest)


class Written:
    """A struct's words, which notes the places that are written to."""

    def __init__(self, words):
        self.words, self.places = words, []

    def __setitem__(self, place, value):
        self.places.append(place)
        self.words[place] = value


def test_workspace_is_written_where_it_is_another(device, monkeypatch):
    arguments, options, tensors, rest = case(seed=9, fmt="footer_584", num_tokens=1, width=256)
    right = expected(arguments, options)[0]
    _torch._local.workspaces.clear()
    place = _plan.WORDS["workspace"]

    def written():
        """By a call; and the address that it used."""
        plan.words.places.clear()
        assert cases.worst_error(bits(swa_jit.decode(*tensors, num_splits=2, **rest)), right) < 1e-4
        return place in plan.words.places, words[place]

    swa_jit.decode(*tensors, num_splits=2, **rest)
    (plan,) = _torch._local.plans.values()
    words, plan.words = plan.words, Written(plan.words)
    first = words[place]
    assert first and [written(), written()] == [(False, first)] * 2
    # A graph's own, and the stream's again.
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    is_written, of_graph = written()
    assert is_written and of_graph != first
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert [written(), written()] == [(True, first), (False, first)]
    # The stream's grows with another call's.
    _arguments, _options, larger, more = case(seed=9, fmt="footer_584", num_tokens=8, width=256)
    swa_jit.decode(*larger, num_splits=2, **more)
    is_written, grown = written()
    assert is_written and grown != first and written() == (False, grown)


@pytest.mark.parametrize(
    "tiles, chosen",
    [
        ({"cluster_size": 4}, (16, 128, 4)),
        ({"cluster_size": 4, "head_group": 8}, (8, 128, 4)),
        ({"cluster_size": 0, "head_group": 16, "kv_tile": 32}, (16, 32, 0)),
        ({"head_group": 16, "kv_tile": 32}, (16, 32, 0)),
    ],
)
def test_tiles_are_those_that_are_given(device, monkeypatch, tiles, chosen):
    """By a call of its own, behind a usual one, and by the operator that a tracer sees."""
    arguments, options, tensors, rest = case(seed=45)
    right = expected(arguments, options)[0]
    configs = []

    def choose(*given):
        config, num_splits = _plan.choose(*given)
        configs.append(config)
        return config.replace(cluster_size=0), num_splits  # the device has no clusters

    swa_jit.decode(*tensors, **rest)
    monkeypatch.setattr(_torch, "choose", choose)
    for _ in range(2):
        assert cases.worst_error(bits(swa_jit.decode(*tensors, **tiles, **rest)), right) < 1e-4
    assert [(each.head_group, each.kv_tile, each.cluster_size) for each in configs] == [chosen]
    _torch._forget_plans()
    traced = make_fx(lambda q: swa_jit.decode(q, *tensors[1:], **tiles, **rest))(tensors[0])
    assert cases.worst_error(bits(traced(tensors[0])), right) < 1e-4
    assert {(each.head_group, each.kv_tile, each.cluster_size) for each in configs} == {chosen} and len(configs) > 1
