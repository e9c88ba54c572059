# SPDX-License-Identifier: Apache-2.0
"""The backend for vLLM against recorded shapes of its metadata builder and caches; vLLM itself is not needed. What is
recorded: dtypes, shapes, strides and what rows hold past their length, as of its sparse_swa and deepseek_v4 modules."""

import logging
import sys
import types

import numpy as np
import pytest
import torch

import cases
import swa_jit
from swa_jit import vllm

MAX_TOKENS = 16
SINGLE_STRIDE = 37440  # a layer's own pool: 64 slots of 584 bytes, rounded up to a multiple of 576
SHARED_STRIDE = 1308672  # blocks in which all layers of V4-Pro lie


def as_pool(blocks, stride):
    """(blocks, slots, 584) bytes with a block stride."""
    num_blocks, slots, row = blocks.shape
    memory = torch.full((num_blocks * stride,), 0xFF, dtype=torch.uint8)
    pool = torch.as_strided(memory, (num_blocks, slots, row), (stride, row, 1))
    pool.copy_(torch.from_numpy(blocks))
    return pool


class Metadata(types.SimpleNamespace):
    """DeepseekSparseSWAMetadata of a batch whose last rows are a graph's padding."""

    def __init__(self, rng, num_tokens, num_padding, num_slots):
        positions = rng.integers(0, 300, num_tokens)
        lens = np.minimum(positions + 1, 128)
        indices = torch.zeros(MAX_TOKENS, 1, 128, dtype=torch.int32)
        for row in range(num_tokens):
            indices[row, 0, : lens[row]] = torch.from_numpy(rng.permutation(num_slots)[: lens[row]].astype(np.int32))
            indices[row, 0, lens[row] :] = -1
        # Rows of padding are stale: only their length says that nothing counts.
        indices[num_tokens : num_tokens + num_padding] = 2139062143
        swa_lens = torch.zeros(MAX_TOKENS, dtype=torch.int32)
        swa_lens[:num_tokens] = torch.from_numpy(lens.astype(np.int32))
        total = num_tokens + num_padding
        super().__init__(
            num_decodes=total,
            num_decode_tokens=total,
            decode_swa_indices=indices[:total],
            decode_swa_lens=swa_lens[:total],
            is_valid_token=torch.arange(MAX_TOKENS) < num_tokens,
            token_to_req_indices=torch.arange(MAX_TOKENS, dtype=torch.int32),
        )


def make_layer(ratio, swa_pool, num_heads, padded_heads, topk_buffer=None):
    module = types.ModuleType("vllm_recorded_flashmla")

    class DeepseekV4FlashMLAAttention:
        def _forward_decode(self, q, kv_cache, swa_metadata, attn_metadata, swa_only, output):
            raise AssertionError("vLLM's own decode")

    def compute_global_topk_indices_and_lens(topk, token_to_req, block_table, block_size, is_valid):
        """Local positions to slots through each request's table; counts those that are not -1."""
        table = block_table[token_to_req[: topk.shape[0]].long()]
        slots = table.gather(1, (topk.clamp(min=0) // block_size).long()) * block_size + topk % block_size
        slots = torch.where(topk < 0, -1, slots).to(torch.int32)
        return slots, ((topk >= 0).sum(1) * is_valid).to(torch.int32)

    DeepseekV4FlashMLAAttention.__module__ = module.__name__
    module.DeepseekV4FlashMLAAttention = DeepseekV4FlashMLAAttention
    module.compute_global_topk_indices_and_lens = compute_global_topk_indices_and_lens
    sys.modules[module.__name__] = module
    layer = DeepseekV4FlashMLAAttention()
    layer.compress_ratio, layer.scale, layer.n_local_heads = ratio, 512**-0.5, num_heads
    layer.swa_cache_layer = types.SimpleNamespace(kv_cache=swa_pool)
    layer.attn_sink = torch.full((padded_heads,), float("-inf"))
    layer.attn_sink[:num_heads] = torch.linspace(-3, 3, num_heads)
    layer.topk_indices_buffer = topk_buffer
    return layer


def expected(q, layer, metadata, num_heads, **extra):
    return swa_jit.decode(
        q[:, :num_heads].contiguous(),
        layer.swa_cache_layer.kv_cache.contiguous(),
        metadata.decode_swa_indices.clone(),
        metadata.decode_swa_lens,
        sinks=layer.attn_sink[:num_heads].clone(),
        scale=layer.scale,
        **extra,
    )


@pytest.mark.parametrize("stride", [SINGLE_STRIDE, SHARED_STRIDE])
@pytest.mark.parametrize("num_heads, padded", [(64, 64), (16, 64), (8, 64)])
def test_window_only_layers(stride, num_heads, padded):
    rng = np.random.default_rng(num_heads)
    pool = as_pool(cases.footer_pool(rng, "footer_584", 4, 64), stride)
    metadata = Metadata(rng, 5, 3, 256)
    layer = make_layer(1, pool, num_heads, padded)
    assert vllm.install(type(layer))
    q = torch.randn(MAX_TOKENS, padded, 512).bfloat16()
    q[:, num_heads:] = float("nan")
    output = torch.full_like(q, float("nan"))
    layer._forward_decode(q[:8], None, metadata, None, True, output[:8])
    right = expected(q[:8], layer, metadata, num_heads)
    assert torch.equal(output[:8, :num_heads], right) and not output[:8, num_heads:].any()
    assert not output[5:8].any() and output[8:].isnan().all()
    assert right[:5].isfinite().all() and right[:5].any()


@pytest.mark.parametrize("ratio, slots, width", [(4, 64, 512), (128, 2, 128)])
def test_window_and_compressed_layers(ratio, slots, width):
    rng = np.random.default_rng(ratio)
    swa_pool = as_pool(cases.footer_pool(rng, "footer_584", 4, 64), SINGLE_STRIDE)
    num_blocks = 20
    blocks = cases.footer_pool(rng, "footer_584", num_blocks, slots)
    pool = as_pool(blocks, SHARED_STRIDE if ratio == 4 else 1728)
    metadata = Metadata(rng, 3, 1, 256)
    total = metadata.num_decode_tokens
    table = torch.from_numpy(np.stack([rng.permutation(num_blocks) for _ in range(total)]).astype(np.int32))
    local = torch.full((MAX_TOKENS, width), -1, dtype=torch.int32)
    for row in range(3):
        count = int(rng.integers(1, min(width, num_blocks * slots)))
        chosen = rng.permutation(num_blocks * slots)[:count]
        local[row, :count] = torch.from_numpy(chosen.astype(np.int32))
    layer = make_layer(ratio, swa_pool, 64, 64, local)
    vllm.install(type(layer))
    slot_of = table.gather(1, (local[:total].clamp(min=0) // slots).long()) * slots + local[:total] % slots
    slot_of = torch.where(local[:total] < 0, -1, slot_of).to(torch.int32)
    lens = ((local[:total] >= 0).sum(1)).to(torch.int32)
    attn = types.SimpleNamespace(
        block_size=256,
        block_table=table,
        c128a_global_decode_topk_indices=slot_of.view(total, 1, -1),
        c128a_decode_topk_lens=lens,
    )
    q = torch.randn(total, 64, 512).bfloat16()
    output = torch.full_like(q, float("nan"))
    layer._forward_decode(q, pool, metadata, attn, False, output)
    right = expected(q, layer, metadata, 64, extra_kv=pool.contiguous(), extra_indices=slot_of.clone(), extra_lens=lens)
    assert torch.equal(output, right) and not output[3].any() and output[:3].isfinite().all()
    only_window = expected(q, layer, metadata, 64)
    assert not torch.equal(output[:3], only_window[:3])


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float8_e4m3fn])
def test_full_precision_caches(kind):
    rng = np.random.default_rng(7)
    pool = torch.randn(4, 64, 512).to(kind)
    metadata = Metadata(rng, 4, 0, 256)
    layer = make_layer(1, pool, 16, 64)
    vllm.install(type(layer))
    q = torch.randn(4, 64, 512).bfloat16()
    output = torch.empty_like(q)
    layer._forward_decode(q, None, metadata, None, True, output)
    assert torch.equal(output[:, :16], expected(q, layer, metadata, 16))


@pytest.mark.parametrize("num_heads", [64, 16])
def test_a_step_is_compiled_without_a_graph_break(num_heads):
    rng = np.random.default_rng(9)
    pool = as_pool(cases.footer_pool(rng, "footer_584", 4, 64), SINGLE_STRIDE)
    metadata = Metadata(rng, 4, 0, 256)
    q, indices, lens = torch.randn(4, 64, 512).bfloat16(), metadata.decode_swa_indices, metadata.decode_swa_lens
    rest = {"scale": 0.05, "sinks": torch.linspace(-1, 1, 64), "num_heads": num_heads}
    rest |= {"extra_cache": pool.flip(0)[:, :, None], "extra_indices": indices, "extra_lens": lens}

    def step(q, output):
        vllm.serve(q, pool, indices, lens, output=output, **rest)

    outputs = [torch.full_like(q, float("nan")) for _ in range(2)]
    step(q, outputs[0])
    torch.compile(step, fullgraph=True, backend="eager")(q, outputs[1])
    assert torch.equal(*outputs) and outputs[0].any() and not outputs[0][:, num_heads:].any()


def test_register_is_asked_for_and_never_raises(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG, "swa_jit")
    monkeypatch.delenv(vllm.VARIABLE, raising=False)
    vllm.register()
    assert "not in use" in caplog.text
    monkeypatch.setenv(vllm.VARIABLE, "1")
    monkeypatch.setitem(sys.modules, "vllm.models.deepseek_v4.nvidia.flashmla", None)
    vllm.register()
    assert "vLLM's own decode stays" in caplog.text


def test_register_replaces_the_layer_that_is_known(monkeypatch):
    layer = make_layer(1, torch.zeros(1, 64, 584, dtype=torch.uint8), 8, 64)
    name = "vllm.models.deepseek_v4.nvidia.flashmla"
    monkeypatch.setitem(sys.modules, name, sys.modules[type(layer).__module__])
    for parent in ("vllm", "vllm.models", "vllm.models.deepseek_v4", "vllm.models.deepseek_v4.nvidia"):
        monkeypatch.setitem(sys.modules, parent, types.ModuleType(parent))
    monkeypatch.setenv(vllm.VARIABLE, "1")
    own = type(layer)._forward_decode
    vllm.register()
    vllm.register()
    assert type(layer)._forward_decode is vllm._forward_decode
    vllm.uninstall(type(layer))
    assert type(layer)._forward_decode is own


def test_another_layer_is_left_alone(caplog):
    class Other:
        def _forward_decode(self, q, output):
            pass

    own = Other._forward_decode
    assert not vllm.install(Other) and Other._forward_decode is own
    assert "vLLM's own decode stays" in caplog.text


def test_wrong_shapes_are_told():
    q = torch.zeros(2, 64, 512, dtype=torch.bfloat16)
    pool = torch.zeros(1, 64, 584, dtype=torch.uint8)
    indices, lens = torch.zeros(2, 1, 128, dtype=torch.int32), torch.ones(2, dtype=torch.int32)
    rest = {"scale": 0.04, "sinks": None}
    for output, num_heads, text in [(q[:, :8], 8, "output: expected"), (torch.empty_like(q), 65, "65 heads or more")]:
        with pytest.raises(swa_jit.ArgumentError, match=text):
            vllm.serve(q, pool, indices, lens, output=output, num_heads=num_heads, **rest)
    with pytest.raises(swa_jit.ArgumentError, match="indices: expected a row for each"):
        vllm.serve(q, pool, indices[:1], lens, output=torch.empty_like(q), num_heads=8, **rest)


def test_entry_point_names_the_function():
    from conftest import ROOT

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points."vllm.general_plugins"]\nswa_jit = "swa_jit.vllm:register"' in text
