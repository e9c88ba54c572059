# SPDX-License-Identifier: Apache-2.0
"""On a GPU with PyTorch: streams, graphs, torch.compile, autocast, inference mode, other frameworks' tensors. Each
result is compared with the float64 path."""

import importlib.util
import os
import threading

import numpy as np
import pytest
import torch

import cases
import swa_jit
from swa_jit import _arrays, _problem, _reference

if not torch.cuda.is_available():
    pytest.skip("there is no GPU here", allow_module_level=True)

DEVICE = "cuda"


def on_device(value):
    """bf16 that NumPy has as uint16 becomes torch.bfloat16."""
    if not isinstance(value, np.ndarray):
        return value
    tensor = torch.from_numpy(np.ascontiguousarray(value))
    return (tensor.view(torch.bfloat16) if value.dtype == np.uint16 else tensor).to(DEVICE)


def bits(tensor):
    return tensor.detach().cpu().view(torch.uint16).numpy()


def reference(arguments, options):
    """The float64 path, whatever the machine."""
    names = dict(zip(("q", "kv", "indices", "lens"), arguments), **options)
    plain = {key: names.pop(key) for key in list(names) if key in _problem.Options._fields}
    q = names["q"]
    out_dim = names["v"].shape[-1] if "v" in names else q.shape[2]
    names["out"] = np.empty((*q.shape[:2], out_dim), np.uint16)
    names["lse"] = np.empty(q.shape[:2], np.float32)
    arrays = {name: _arrays.view(name, names[name]) if name in names else None for name in _problem.TENSORS}
    _reference.decode(arrays, _problem.build(arrays, _problem.Options(**plain)))
    return names["out"], names["lse"]


def check(out, lse, arguments, options, limit=4e-3):
    expected, log = reference(arguments, options)
    assert cases.worst_error(bits(out), expected) <= limit
    if lse is not None:
        found = lse.cpu().numpy()
        finite = np.isfinite(log)
        assert np.array_equal(log[~finite], found[~finite]) and np.allclose(log[finite], found[finite], atol=2e-3)


def case(**wanted):
    arguments, options = cases.problem(**wanted)
    tensors = [on_device(value) for value in arguments]
    return arguments, options, tensors, {name: on_device(value) for name, value in options.items()}


@pytest.mark.parametrize("fmt", ["e4m3_slot", "e4m3", "bf16", "footer_584", "footer_528"])
@pytest.mark.parametrize("num_tokens, num_heads", [(1, 128), (7, 24), (64, 16)])
def test_formats(fmt, num_tokens, num_heads):
    arguments, options, tensors, rest = case(seed=1, fmt=fmt, num_tokens=num_tokens, num_heads=num_heads)
    options["sinks"] = np.linspace(-2, 2, num_heads).astype(np.float32)
    out, lse = swa_jit.decode(*tensors, lse=True, **rest, sinks=on_device(options["sinks"]))
    check(out, lse, arguments, options)


def test_extra_scope_splits_and_separate_v():
    arguments, options, tensors, rest = case(seed=2, fmt="footer_584", num_tokens=2)
    (_q, kv, indices, _n), _ = cases.problem(seed=3, fmt="footer_584", num_tokens=2, width=1024, num_blocks=40)
    options |= {"extra_kv": kv, "extra_indices": indices}
    extra = {"extra_kv": on_device(kv), "extra_indices": on_device(indices)}
    for num_splits in (None, 1, 4):
        for _ in range(2):  # the second use of the workspace
            out, lse = swa_jit.decode(*tensors, lse=True, num_splits=num_splits, **rest, **extra)
            check(out, lse, arguments, options)
    rng = np.random.default_rng(4)
    k, v = (cases.pool(rng, "bf16", 8, 16, dim, num_kv_heads=8)[0] for dim in (192, 128))
    q = cases.bf16(rng.standard_normal((3, 64, 192)))
    indices, lens = rng.integers(-1, 129, (3, 128)), np.array([128, 1, 0])
    out, lse = swa_jit.decode(*map(on_device, (q, k, indices, lens)), v=on_device(v), soft_cap=20.0, lse=True)
    check(out, lse, (q, k, indices, lens), {"v": v, "soft_cap": 20.0})


@pytest.mark.parametrize("form", ["2d", "1TW", "T1W"])
@pytest.mark.parametrize("is_float8", [False, True])
def test_seed_shapes(form, is_float8):
    arguments, options, tensors, rest = case(seed=5)
    q, kv, indices, lens = tensors
    indices = {"2d": indices, "1TW": indices[None], "T1W": indices[:, None]}[form].long()
    kv = kv.view(torch.float8_e4m3fn) if is_float8 else kv
    scales = rest["inv_scale"][:, None]
    out, lse = swa_jit.native_swa_decode_attention(q, kv, scales, indices, lens.long(), 64, 0.05, lse=True)
    check(out, lse, arguments, options | {"scale": 0.05})
    half = scales.bfloat16()
    out = swa_jit.native_swa_decode_attention(q, kv, half, indices, lens, 64, 0.05)
    rounded = cases.from_bf16(bits(half)[:, 0]).astype(np.float32)
    check(out, None, arguments, {"inv_scale": rounded, "scale": 0.05})


def test_strided_tensors_are_not_copied():
    arguments, options, tensors, rest = case(seed=6, num_heads=8)
    q, kv, indices, lens = tensors
    wide = torch.full((3, 24, 512), float("nan"), dtype=torch.bfloat16, device=DEVICE)
    wide[:, 8:16] = q
    pools = torch.full((4, 2, 64, 512), 0x7F, dtype=torch.uint8, device=DEVICE)
    pools[:, 1] = kv
    results = torch.zeros(8, 3, 512, dtype=torch.bfloat16, device=DEVICE)
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    out = swa_jit.decode(wide[:, 8:16], pools[:, 1], indices, lens, out=results.transpose(0, 1), **rest)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before
    check(out, None, arguments, options)
    assert out.data_ptr() == results.data_ptr()


def test_host_does_not_wait():
    """A stream that is held back by a long sleep: the call returns before it."""
    _arguments, _options, tensors, rest = case(seed=7)
    swa_jit.decode(*tensors, **rest)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(2_000_000_000)
        swa_jit.decode(*tensors, **rest)
        assert not torch.cuda.current_stream().query()
    torch.cuda.set_sync_debug_mode("error")
    try:
        swa_jit.decode(*tensors, lse=True, **rest)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()


def test_two_streams_and_their_order():
    """Each call runs behind what its own stream holds: the tensors are filled on it just before."""
    arguments, options, tensors, rest = case(seed=8, num_tokens=16)
    q, *others = tensors
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    found = []
    for _ in range(20):
        for stream in streams:
            with torch.cuda.stream(stream):
                late = torch.zeros_like(q)
                torch.cuda._sleep(100_000)
                late.copy_(q)
                found.append(swa_jit.decode(late, *others, **rest))
    torch.cuda.synchronize()
    for out in found[1:]:
        assert torch.equal(out.view(torch.uint16), found[0].view(torch.uint16))
    check(found[0], None, arguments, options)


def test_threads_each_with_a_stream():
    arguments, options, tensors, rest = case(seed=9, num_tokens=4)
    right = swa_jit.decode(*tensors, **rest)
    wrong = []

    def work(number):
        rng = np.random.default_rng(number)
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(200):
                rows = int(rng.integers(1, 5))
                out = swa_jit.decode(tensors[0][:rows], tensors[1], tensors[2][:rows], tensors[3][:rows], **rest)
                torch.cuda.current_stream().synchronize()
                if cases.worst_error(bits(out), bits(right[:rows])) > 8e-3:
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    check(right, None, arguments, options)


@pytest.mark.parametrize("with_extra", [False, True])
def test_graph_is_captured_and_replayed(with_extra):
    """Replays read what the tensors hold then: lengths of 0 at the capture, real ones later, and the reverse."""
    fmt = "footer_584" if with_extra else "e4m3_slot"
    arguments, options, tensors, rest = case(seed=10, fmt=fmt, num_tokens=4)
    if with_extra:
        (_q, kv, indices, _n), _ = cases.problem(seed=11, fmt=fmt, num_tokens=4, width=512, num_blocks=9)
        options |= {"extra_kv": kv, "extra_indices": indices}
        rest |= {"extra_kv": on_device(kv), "extra_indices": on_device(indices)}
    q, kv, indices, lens = tensors
    real = lens.clone()
    lens.zero_()
    swa_jit.decode(q, kv, indices, lens, lse=True, **rest)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out, lse = swa_jit.decode(q, kv, indices, lens, lse=True, **rest)
    for value in (real, torch.zeros_like(real), real):
        lens.copy_(value)
        out.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        given = (arguments[0], arguments[1], arguments[2], value.cpu().numpy())
        check(out, lse, given, options)


@pytest.mark.skipif(torch.cuda.get_device_capability() < (9, 0), reason="thread block clusters come with sm_90")
@pytest.mark.parametrize("fmt", ["e4m3_slot", "e4m3"])
@pytest.mark.parametrize("head_group", [8, 16])
@pytest.mark.parametrize("num_tokens", [1, 2, 5])
def test_clusters(fmt, head_group, num_tokens):
    """By themselves, with sinks and 24 heads, of which a group of 16 has half a group left; and in a graph."""
    arguments, options, tensors, rest = case(seed=23, fmt=fmt, num_tokens=num_tokens, num_heads=24)
    options["sinks"] = np.linspace(-2, 2, 24).astype(np.float32)
    rest |= {"sinks": on_device(options["sinks"]), "cluster_size": 4, "head_group": head_group}
    out, lse = swa_jit.decode(*tensors, lse=True, **rest)
    check(out, lse, arguments, options)
    q, kv, indices, lens = tensors
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured, its_lse = swa_jit.decode(*tensors, lse=True, **rest)
    for value in (torch.zeros_like(lens), lens.clone(), torch.ones_like(lens)):
        lens.copy_(value)
        captured.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        check(captured, its_lse, (*arguments[:3], value.cpu().numpy()), options)
    # One kernel's results do not depend on the number of tokens.
    lens.copy_(on_device(arguments[3]))
    alone = swa_jit.decode(q[-1:], kv, indices[-1:], lens[-1:], lse=True, **rest)
    assert torch.equal(alone[0].view(torch.uint16), out[-1:].view(torch.uint16)) and torch.equal(alone[1], lse[-1:])


def test_kernel_that_is_not_loaded_is_told_within_a_capture():
    _arguments, _options, tensors, rest = case(seed=12, width=37)
    graph = torch.cuda.CUDAGraph()
    with (
        pytest.raises(swa_jit.InvalidError, match="make the same call once before"),
        torch.cuda.graph(graph),
    ):
        swa_jit.decode(*tensors, **rest)
    torch.cuda.synchronize()
    swa_jit.decode(*tensors, **rest)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        swa_jit.decode(*tensors, **rest)


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_compiled_without_a_graph_break(mode):
    _arguments, _options, tensors, rest = case(seed=13)
    q, kv, indices, lens = tensors
    scales = rest["inv_scale"]

    def layer(q, kv, scales, indices, lens):
        out, lse = swa_jit.native_swa_decode_attention(q * 2, kv, scales, indices, lens, 64, 0.05, lse=True)
        return out.float() + 1, lse

    right = layer(q, kv, scales, indices, lens)
    compiled = torch.compile(layer, fullgraph=True, mode=mode)
    for _ in range(4):
        found = compiled(q, kv, scales, indices, lens)
        assert torch.equal(found[0], right[0]) and torch.equal(found[1], right[1])
    fewer = compiled(q[:2], kv, scales, indices[:2], lens[:2])
    assert torch.equal(fewer[1], right[1][:2])


def test_operator_is_sound():
    _arguments, _options, tensors, rest = case(seed=14)
    optional = [rest["inv_scale"], *[None] * 8]
    options = (64, 0.05, None, None, 1.0, 1.0, 0.0, None, None, 1.0, 0, None, False, None, None, None)
    torch.library.opcheck(torch.ops.swa_jit.decode.default, (*tensors, *optional, None, True, *options))
    out, lse = torch.empty_like(tensors[0]), torch.empty(3, 16, device=DEVICE)
    torch.library.opcheck(torch.ops.swa_jit.decode_out.default, (*tensors, *optional, out, lse, None, *options))


def test_autocast_and_inference_mode_change_nothing():
    arguments, options, tensors, rest = case(seed=15)
    right = swa_jit.decode(*tensors, **rest)
    with torch.autocast("cuda", dtype=torch.float16):
        assert torch.equal(swa_jit.decode(*tensors, **rest), right)
    with torch.inference_mode():
        out = swa_jit.decode(*tensors, **rest)
        assert torch.equal(out, right) and out.is_inference()
    with torch.no_grad():
        wanting = tensors[0].clone().requires_grad_()
        assert torch.equal(swa_jit.decode(wanting, *tensors[1:], **rest), right)
    for _ in range(2):
        with pytest.raises(swa_jit.ArgumentError, match="q: expected no gradient"):
            swa_jit.decode(wanting, *tensors[1:], **rest)
    check(right, None, arguments, options)


def test_merge():
    arguments, options, tensors, rest = case(seed=16, num_tokens=4)
    q, kv, indices, lens = tensors
    lens.fill_(128)
    sinks = torch.linspace(-1, 1, 16, device=DEVICE)
    parts = [swa_jit.decode(q, kv, indices[:, cut], lens, lse=True, **rest) for cut in (slice(64), slice(64, 128))]
    outs, lses = zip(*parts)
    out, lse = swa_jit.merge(outs, lses, sinks=sinks, lse=True)
    given = (*arguments[:3], np.full(4, 128, np.int32))
    check(out, lse, given, options | {"sinks": sinks.cpu().numpy()}, 8e-3)
    compiled = torch.compile(lambda a, b: swa_jit.merge(a, b, sinks=sinks, lse=True), fullgraph=True)
    again = compiled(list(outs), list(lses))
    assert torch.equal(again[0], out) and torch.equal(again[1], lse)


def test_wrong_tensors_are_told():
    _arguments, _options, tensors, rest = case(seed=17)
    q, kv, indices, lens = tensors
    good = swa_jit.decode(q, kv, indices, lens, **rest)
    for name, value, text in [
        ("q", q.cpu(), "q: expected a tensor on a CUDA device, as kv is, given cpu"),
        ("kv", kv.cpu(), "kv: expected q's device, cuda:0, given cpu"),
        ("lens", lens.cpu().pin_memory(), "lens: expected q's device"),
        ("q", q.float(), "q: expected bfloat16, given float32"),
        ("q", q.half(), "q: expected bfloat16, given float16"),
        ("kv", kv.view(torch.float8_e5m2), "kv: expected uint8 or float8_e4m3fn"),
        ("indices", indices.to_sparse(), "indices: expected a strided tensor"),
        ("q", q[:1].expand(3, -1, -1), "q: expected a positive stride"),
        ("kv", kv.cpu().numpy(), "kv: expected a torch.Tensor"),
        ("q", q.to("meta"), "meta"),
        ("q", torch._neg_view(q), "q: expected a tensor as its memory has it"),
        ("kv", torch.nested.nested_tensor(list(kv)), "kv: expected a strided tensor, given a nested one"),
        ("kv", torch.empty(0, 64, 512, dtype=torch.uint8, device=DEVICE), None),
    ]:
        given = dict(zip(("q", "kv", "indices", "lens"), tensors)) | {name: value}
        if text is None:
            assert not swa_jit.decode(**given, **rest).any()
            continue
        with pytest.raises(swa_jit.ArgumentError, match=text):
            swa_jit.decode(**given, **rest)
    for scale in (torch.tensor(0.05, device=DEVICE), torch.tensor(0.05)):
        with pytest.raises(swa_jit.ArgumentError, match="scale: expected a Python number"):
            swa_jit.decode(q, kv, indices, lens, scale=scale, **rest)
    assert torch.equal(swa_jit.decode(q, kv, indices, lens, **rest), good)


def test_freed_storage_is_told():
    _arguments, _options, tensors, rest = case(seed=18)
    q, kv, indices, lens = tensors
    swa_jit.decode(q, kv, indices, lens, **rest)
    pools = torch.zeros(2, *kv.shape, dtype=torch.uint8, device=DEVICE)
    for freed in (kv.clone(), pools[1]):
        swa_jit.decode(q, freed, indices, lens, **rest)
        freed.untyped_storage().resize_(0)
        with pytest.raises(swa_jit.ArgumentError, match=r"kv: expected a storage of .* bytes or more, given 0 bytes"):
            swa_jit.decode(q, freed, indices, lens, **rest)
    torch.cuda.synchronize()


def test_nvrtc_is_pytorchs_and_one():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = {line.split()[-1] for line in maps if "libnvrtc.so" in line}
    assert len(loaded) <= 1, loaded


def test_closed_library_is_told(tmp_path):
    _arguments, _options, tensors, rest = case(seed=19)
    library = swa_jit.Library(cache_dir=tmp_path)
    swa_jit.decode(*tensors, library=library, **rest)
    torch.cuda.synchronize()
    library.close()
    with pytest.raises(swa_jit.InvalidError, match="closed"):
        swa_jit.decode(*tensors, library=library, **rest)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_cupys_arrays():
    import cupy

    arguments, options = cases.problem(seed=20)
    tensors = [cupy.asarray(value) for value in arguments]
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        out, lse = swa_jit.decode(*tensors, inv_scale=cupy.asarray(options["inv_scale"]), lse=True)
        assert type(out) is cupy.ndarray
        expected, log = reference(arguments, options)
        assert cases.worst_error(cupy.asnumpy(out), expected) <= 4e-3
        assert np.allclose(cupy.asnumpy(lse), log, atol=2e-3)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_jaxs_arrays():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    arguments, options = cases.problem(seed=21)
    q = jax.lax.bitcast_convert_type(jnp.asarray(arguments[0]), jnp.bfloat16)
    tensors = [jnp.asarray(value) for value in arguments[1:]]
    found = [swa_jit.decode(q * 1, *tensors, inv_scale=jnp.asarray(options["inv_scale"]), lse=True) for _ in range(10)]
    expected, log = reference(arguments, options)
    for out, lse in found:
        assert isinstance(out, jax.Array) and out.dtype == jnp.bfloat16
        raw = np.asarray(jax.lax.bitcast_convert_type(out + 0, jnp.uint16))
        assert cases.worst_error(raw, expected) <= 4e-3 and np.allclose(np.asarray(lse), log, atol=2e-3)


class Interface:
    """What has __cuda_array_interface__ alone."""

    def __init__(self, tensor, typestr):
        self.tensor = tensor
        item = tensor.element_size()
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.shape),
            "strides": tuple(stride * item for stride in tensor.stride()),
            "typestr": typestr,
            "data": (tensor.data_ptr(), False),
        }


def test_cuda_array_interface_and_dlpack_alone():
    arguments, options, tensors, rest = case(seed=22)
    right = swa_jit.decode(*tensors, **rest)
    torch.cuda.synchronize()
    given = [Interface(tensor, kind) for tensor, kind in zip(tensors, ("<V2", "|u1", "<i4", "<i4"))]
    made = swa_jit.decode(*given, inv_scale=Interface(rest["inv_scale"], "<f4"))
    out = torch.from_dlpack(made)
    assert torch.equal(out, right)
    torch.cuda.synchronize()
    check(out, None, arguments, options)
    del made, out
    with pytest.raises(swa_jit.ArgumentError, match="q: expected device memory of this process"):
        swa_jit.decode(Interface(tensors[0].cpu(), "<V2"), *given[1:], inv_scale=Interface(rest["inv_scale"], "<f4"))
