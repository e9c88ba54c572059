# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors on the CPU: the published prototype's own fallback in float64 as an independent reference, the
operators under torch.compile, and what is refused. test_gpu.py has the same on a device."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import cases
import swa_jit
from conftest import ROOT


def as_torch(value):
    if not isinstance(value, np.ndarray):
        return value
    tensor = torch.from_numpy(np.ascontiguousarray(value))
    return tensor.view(torch.bfloat16) if value.dtype == np.uint16 else tensor


def case(**wanted):
    arguments, options = cases.problem(**wanted)
    return [as_torch(value) for value in arguments], {name: as_torch(value) for name, value in options.items()}


def bits(tensor):
    return tensor.detach().view(torch.uint16).numpy()


def fallback(q, cache, inv_scale, indices, lens, block_size, scale, window_size):
    """What the prototype computes where it has no kernel, written anew in float64: gather by clamped indices, widen,
    multiply by the scale, mask by length and by negative index, attend."""
    if indices.dim() == 3:
        indices = indices.squeeze(0)
    num_tokens, num_heads, _dim = q.shape
    slots = indices[:num_tokens].clamp(min=0).long()
    rows = cache[slots // block_size, slots % block_size].view(torch.float8_e4m3fn).double()
    rows = rows * inv_scale.reshape(-1)[slots].double().unsqueeze(-1)
    masked = (torch.arange(window_size)[None] >= lens[:num_tokens, None]) | (indices[:num_tokens] < 0)
    bias = torch.zeros(masked.shape, dtype=torch.float64).masked_fill(masked, float("-inf"))
    out = torch.nn.functional.scaled_dot_product_attention(
        q.double(), rows, rows, attn_mask=bias[:, None].expand(-1, num_heads, -1), scale=scale
    )
    return out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mean", [0.0, -4.0])
def test_seeds_fallback_agrees_where_it_is_right(seed, mean):
    """It is right where each token has a position and no index is past the pool. A negative mean score is what a kernel
    that counts padding gets wrong."""
    (q, cache, indices, lens), rest = case(seed=seed, num_tokens=5, num_heads=8)
    indices = indices.clamp(max=255)
    lens = torch.tensor([128, 1, 2, 17, 127])
    indices[:, 0] = indices[:, 0].clamp(min=0)
    if mean:
        rows = cache.view(torch.float8_e4m3fn).double().reshape(256, 512) * rest["inv_scale"].double()[:, None]
        q = (q.double() + mean * rows.mean(0) * 50).bfloat16()
    right = fallback(q, cache, rest["inv_scale"], indices, lens, 64, 512**-0.5, 128)
    for given in (indices, indices[None]):
        out = swa_jit.native_swa_decode_attention(q, cache, rest["inv_scale"], given, lens, 64, 512**-0.5)
        assert out.dtype == torch.bfloat16 and out.shape == right.shape
        error = (out.double() - right).norm(dim=-1) / right.norm(dim=-1)
        assert error.max() <= 3e-3


def test_tokens_without_positions_are_defined():
    """No position at all is 0, whatever the fallback makes of it; a slot past the pool is masked."""
    (q, cache, indices, lens), rest = case(num_tokens=2)
    lens[:] = 0
    out, lse = swa_jit.native_swa_decode_attention(q, cache, rest["inv_scale"], indices, lens, 64, 0.05, lse=True)
    assert not out.any() and torch.isneginf(lse).all()
    lens[:], indices[:] = 128, 256
    out, lse = swa_jit.native_swa_decode_attention(q, cache, rest["inv_scale"], indices, lens, 64, 0.05, lse=True)
    assert not out.any() and torch.isneginf(lse).all()


@pytest.mark.parametrize("cache_type", [torch.uint8, torch.float8_e4m3fn])
@pytest.mark.parametrize("scale_type", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("int_type", [torch.int32, torch.int64])
def test_every_type_is_taken(cache_type, scale_type, int_type):
    (q, cache, indices, lens), rest = case(num_tokens=2)
    scales = rest["inv_scale"].to(scale_type)
    out = swa_jit.native_swa_decode_attention(
        q, cache.view(cache_type), scales[:, None], indices.to(int_type)[:, None], lens.to(int_type), 64, 0.05
    )
    plain = swa_jit.native_swa_decode_attention(q, cache, scales.float(), indices, lens, 64, 0.05)
    assert torch.equal(out, plain)


def test_results_are_those_of_numpys_tensors(emulator):
    arguments, options = cases.problem(seed=3, num_tokens=2)
    tensors, rest = [as_torch(value) for value in arguments], {"inv_scale": as_torch(options["inv_scale"])}
    expected = swa_jit.decode(*arguments, **options)
    assert np.array_equal(bits(swa_jit.decode(*tensors, **rest)), expected)
    out, lse = torch.zeros_like(tensors[0]), torch.zeros(16, 2).t()
    found = swa_jit.decode(*tensors, out=out, lse=lse, library=emulator, **rest)
    assert found[0] is out and found[1] is lse and lse.isfinite().any()
    assert cases.worst_error(bits(out), expected) <= 4e-3


def layer(q, kv, scales, indices, lens):
    out, lse = swa_jit.native_swa_decode_attention(q * 2, kv, scales, indices, lens, 64, 0.05, lse=True)
    return out + 1, lse


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_without_a_graph_break(backend):
    (q, kv, indices, lens), rest = case(seed=5)
    right = layer(q, kv, rest["inv_scale"], indices, lens)
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    for rows in (3, 2):
        out, lse = compiled(q[:rows], kv, rest["inv_scale"], indices[:rows], lens[:rows])
        assert torch.equal(out, right[0][:rows]) and torch.equal(lse, right[1][:rows])


def test_compiled_into_given_tensors():
    (q, kv, indices, lens), rest = case(seed=6)

    def step(q, out, lse):
        swa_jit.decode(q, kv, indices, lens, out=out, lse=lse, **rest)
        return out * 2

    right = swa_jit.decode(q, kv, indices, lens, **rest)
    out, lse = torch.empty_like(q), torch.empty(3, 16)
    doubled = torch.compile(step, fullgraph=True, backend="aot_eager")(q, out, lse)
    assert torch.equal(out, right) and torch.equal(doubled, right * 2)


def test_merge_is_compiled_too():
    (q, kv, indices, lens), rest = case(seed=7)
    lens[:] = 128
    parts = [swa_jit.decode(q, kv, indices[:, cut], lens, lse=True, **rest) for cut in (slice(64), slice(64, 128))]
    outs, lses = zip(*parts)
    sinks = torch.linspace(-1, 1, 16)
    right = swa_jit.decode(q, kv, indices, lens, sinks=sinks, lse=True, **rest)
    out, lse = swa_jit.merge(outs, lses, sinks=sinks, lse=True)
    assert cases.worst_error(bits(out), bits(right[0])) < 6e-3 and torch.allclose(lse, right[1], atol=1e-4)
    compiled = torch.compile(lambda a, b: swa_jit.merge(a, b, sinks=sinks, lse=True), fullgraph=True, backend="eager")
    again = compiled(outs, lses)
    assert torch.equal(again[0], out) and torch.equal(again[1], lse)


def test_operators_are_sound():
    (q, kv, indices, lens), rest = case(seed=8)
    optional = [rest["inv_scale"], *[None] * 8]
    options = (64, 0.05, None, None, 1.0, 1.0, 0.0, None, None, 1.0, 0, None, False, None, None, None)
    torch.library.opcheck(torch.ops.swa_jit.decode.default, (q, kv, indices, lens, *optional, None, True, *options))
    out, lse = torch.empty_like(q), torch.empty(3, 16)
    torch.library.opcheck(
        torch.ops.swa_jit.decode_out.default, (q, kv, indices, lens, *optional, out, lse, None, *options)
    )


def test_first_call_inside_torch_compile():
    """In a process that imported this package before PyTorch."""
    program = """
import swa_jit, torch
def f(q, kv, scales, indices, lens):
    return swa_jit.native_swa_decode_attention(q, kv, scales, indices, lens, 2, 0.1)
given = (torch.ones(1, 8, 64, dtype=torch.bfloat16), torch.zeros(2, 2, 64, dtype=torch.uint8), torch.ones(4),
         torch.zeros(1, 4, dtype=torch.int32), torch.ones(1, dtype=torch.int32))
assert torch.compile(f, fullgraph=True, backend="eager")(*given).shape == (1, 8, 64)
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


def test_autocast_and_inference_mode_change_nothing():
    tensors, rest = case(seed=9)
    right = swa_jit.decode(*tensors, **rest)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(swa_jit.decode(*tensors, **rest), right)
    with torch.inference_mode():
        out = swa_jit.decode(*tensors, **rest)
        assert out.is_inference() and torch.equal(out, right)


def test_gradients_are_refused():
    (q, kv, indices, lens), rest = case(seed=10)
    q.requires_grad_()
    with pytest.raises(swa_jit.ArgumentError, match=r"q: expected no gradient .* given requires_grad=True"):
        swa_jit.decode(q, kv, indices, lens, **rest)
    with torch.no_grad():
        swa_jit.decode(q, kv, indices, lens, **rest)
    sinks = torch.nn.Parameter(torch.zeros(16))
    with pytest.raises(swa_jit.ArgumentError, match="sinks: expected no gradient"):
        swa_jit.decode(q.detach(), kv, indices, lens, sinks=sinks, **rest)


def test_freed_storage_is_told():
    (q, kv, indices, lens), rest = case(seed=11)
    for freed in (kv.clone(), torch.zeros(2, *kv.shape, dtype=torch.uint8)[1]):
        freed.untyped_storage().resize_(0)
        with pytest.raises(swa_jit.ArgumentError, match=r"kv: expected a storage of \d+ bytes or more, given 0 bytes"):
            swa_jit.decode(q, freed, indices, lens, **rest)
    short = indices.clone()
    short.untyped_storage().resize_(100)
    with pytest.raises(swa_jit.ArgumentError, match="indices: expected a storage"):
        swa_jit.decode(q, kv, short, lens, **rest)


@pytest.mark.parametrize(
    "name, change, text",
    [
        ("q", lambda t: t.float(), "q: expected bfloat16, given float32"),
        ("q", lambda t: t.half(), "q: expected bfloat16, given float16"),
        ("q", lambda t: t.to_sparse(), "q: expected a strided tensor"),
        ("q", lambda t: t[:1].expand(3, -1, -1), "a positive stride in dimension 0, given an expanded one"),
        ("q", lambda t: t.transpose(1, 2).contiguous().transpose(1, 2), "q: expected elements side by side"),
        ("q", lambda t: t[:, :, :0], "q: expected a num_heads and a head_dim of 1 or more"),
        ("q", torch._neg_view, "q: expected a tensor as its memory has it"),
        ("q", lambda t: torch.nested.nested_tensor(list(t)), "q: expected a strided tensor, given a nested one"),
        ("q", lambda t: torch.nested.nested_tensor(list(t), layout=torch.jagged), "q: expected a strided tensor"),
        ("kv", lambda t: t.view(torch.float8_e5m2), "kv: expected uint8 or float8_e4m3fn"),
        ("kv", lambda t: t.to("meta"), "kv: expected a tensor on a CUDA device, given one on meta"),
        ("kv", lambda t: t.numpy(), "kv: expected a torch.Tensor, as q is, given ndarray"),
        ("lens", lambda t: None, "lens: expected a tensor, given None"),
        ("lens", lambda t: t.expand(2, 3), r"lens: expected shape \(T,\)"),
        ("indices", lambda t: t.bool(), "indices: expected int32 or int64, given bool"),
        ("indices", lambda t: t[:0], "indices: expected a row for each of the 3 tokens"),
        ("scale", lambda _: torch.tensor(0.05), "scale: expected a Python number, given a tensor"),
        ("block_size", lambda _: torch.tensor(64), "block_size: expected a whole number"),
        ("dependent", lambda _: torch.tensor(True), "dependent: expected True or False, given a tensor"),
        ("lse", lambda _: 1, "lse: expected a torch.Tensor, as q is, given int"),
        ("library", lambda _: "here", "library: expected a swa_jit.Library, given str"),
        ("kernel", lambda _: 5, "kernel: expected a swa_jit.Kernel, given int"),
        ("stream", lambda _: 5, "torch.cuda.stream"),
    ],
)
def test_wrong_tensors_are_named(name, change, text):
    tensors, rest = case(seed=12)
    given = dict(zip(("q", "kv", "indices", "lens"), tensors)) | rest
    given[name] = change(given.get(name))
    with pytest.raises(swa_jit.InvalidError, match=text):
        swa_jit.decode(**given)


def test_transforms_are_told():
    """torch.func's tensors have no memory of their own."""
    (q, kv, indices, lens), rest = case(seed=14)
    with pytest.raises(swa_jit.ArgumentError, match="q: expected a tensor with memory of its own"):
        torch.func.vmap(lambda each: swa_jit.decode(each, kv, indices, lens, **rest))(torch.stack([q, q]))


def test_results_over_other_tensors_are_refused():
    (q, kv, indices, lens), rest = case(seed=15)
    within = kv.view(torch.bfloat16).reshape(-1)[: q.numel()].view(q.shape)
    for name, value, other in [("out", within, "kv"), ("out", q, "q"), ("lse", rest["inv_scale"][:48].view(3, 16), "")]:
        before = value.clone()
        with pytest.raises(swa_jit.ArgumentError, match=f"{name}: expected memory of its own, .* overlaps {other}"):
            swa_jit.decode(q, kv, indices, lens, **{name: value}, **rest)
        assert torch.equal(value, before)
    # Rows between another tensor's rows.
    wide = torch.zeros(3, 32, 512, dtype=torch.bfloat16)
    wide[:, :16] = q
    out = swa_jit.decode(wide[:, :16], kv, indices, lens, out=wide[:, 16:], **rest)
    assert torch.equal(out, swa_jit.decode(q, kv, indices, lens, **rest)) and torch.equal(wide[:, :16], q)


def test_options_that_tracing_cannot_take(fake):
    tensors, rest = case(seed=13)
    compiled = torch.compile(
        lambda q: swa_jit.decode(q, *tensors[1:], library=fake, **rest), backend="eager", fullgraph=True
    )
    with pytest.raises(Exception, match="cannot be traced"):
        compiled(tensors[0])
