# SPDX-License-Identifier: Apache-2.0
"""A decode backend for vLLM's DeepSeek-V4 layers, as a plugin of its entry point vllm.general_plugins.

vLLM calls :func:`register` in each of its processes. With SWA_JIT_VLLM=1 the decode step of its FlashMLA layers for
DeepSeek-V4 is then this module's; without it, or where vLLM's layer is not the one that is known here, vLLM stays as it
is and the log says why. Prefill, cache writes, the indexer, rotary embedding and projections stay vLLM's, and so does
tensor parallelism: a rank passes the heads that it has.

The contract, as of vLLM's sparse_swa and deepseek_v4 modules in 2026 (tests/python/test_vllm.py has it in recorded
shapes):

- q and output: bfloat16 (T, padded heads, 512), of which the first ``n_local_heads`` count.
- The window's cache: (blocks, 64, 584) bytes of fp8_ds_mla, or (blocks, block size, 512) of bf16 or e4m3, with the
  block stride of a pool that several layers may share.
- ``decode_swa_indices``: int32 (T or more, W) or (T or more, 1, W): slots, oldest first. A row holds what it held
  before past its length. ``decode_swa_lens``: int32, a token each; 0 for padding of a graph.
- Compressed layers: their own cache of 256 / compress_ratio slots a block, int32 indices (T, 1, K) and lengths.
- ``attn_sink``: float32, a padded head each. One softmax over the window and the compressed positions.
"""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from typing import Any

from . import _decode
from ._arrays import is_torch
from ._errors import ArgumentError
from ._library import logger
from ._plan import Layout
from ._problem import Options, number, whole

VARIABLE = "SWA_JIT_VLLM"
# Where vLLM's releases have the layer.
_LAYERS = (("vllm.models.deepseek_v4.nvidia.flashmla", "DeepseekV4FlashMLAAttention"),)
_PARAMETERS = ("self", "q", "kv_cache", "swa_metadata", "attn_metadata", "swa_only", "output")
_FORMATS = {584: "footer_584", 528: "footer_528"}


def register() -> None:
    """vLLM's entry point. Never raises: a plugin that does would keep the engine from starting."""
    if os.environ.get(VARIABLE) != "1":
        logger.debug("vllm: not in use, as %s is not 1", VARIABLE)
        return
    for module_name, class_name in _LAYERS:
        try:
            layer = getattr(import_module(module_name), class_name)
        except (ImportError, AttributeError) as error:
            logger.warning("vllm: %s.%s is not there (%s): vLLM's own decode stays", module_name, class_name, error)
            continue
        install(layer)


def install(layer: Any) -> bool:
    """Makes a layer class decode here; false where its decode is not the one that is known."""
    present = getattr(layer, "_forward_decode", None)
    found = tuple(inspect.signature(present).parameters) if present is not None else ()
    if found != _PARAMETERS:
        logger.warning(
            "vllm: %s._forward_decode takes %s and not %s: vLLM's own decode stays",
            layer.__qualname__,
            found,
            _PARAMETERS,
        )
        return False
    if present is not _forward_decode:
        layer._swa_jit_replaced = present
        layer._forward_decode = _forward_decode
        logger.info("vllm: %s decodes with swa-jit", layer.__qualname__)
    return True


def uninstall(layer: Any) -> None:
    """The reverse of :func:`install`."""
    replaced = layer.__dict__.get("_swa_jit_replaced")
    if replaced is not None:
        layer._forward_decode = replaced
        del layer._swa_jit_replaced


def _forward_decode(
    self: Any, q: Any, kv_cache: Any, swa_metadata: Any, attn_metadata: Any, swa_only: bool, output: Any
) -> None:
    """In place of the layer's method of that name."""
    num_tokens = swa_metadata.num_decode_tokens
    extra: dict[str, Any] = {}
    if not swa_only:
        indices, lens = _compressed_positions(self, swa_metadata, attn_metadata)
        extra = {"extra_cache": kv_cache, "extra_indices": indices, "extra_lens": lens}
    serve(
        _first_rows(q, num_tokens),
        self.swa_cache_layer.kv_cache,
        swa_metadata.decode_swa_indices,
        swa_metadata.decode_swa_lens,
        scale=self.scale,
        sinks=self.attn_sink,
        output=_first_rows(output, num_tokens),
        num_heads=self.n_local_heads,
        **extra,
    )


def _first_rows(tensor: Any, count: int) -> Any:
    """A view costs what several of the call's other steps do: none where all rows count."""
    return tensor if tensor.size(0) == count else tensor[:count]


def _compressed_positions(layer: Any, swa_metadata: Any, attn_metadata: Any) -> tuple[Any, Any]:
    """Indices and lengths of the compressed scope: of ratio 4 the indexer's choice, which vLLM's own function turns
    from positions to slots; of the others what the builder made."""
    num_tokens, num_requests = swa_metadata.num_decode_tokens, swa_metadata.num_decodes
    if layer.compress_ratio != 4:
        return attn_metadata.c128a_global_decode_topk_indices, attn_metadata.c128a_decode_topk_lens
    to_slots = sys.modules[type(layer).__module__].__dict__.get("compute_global_topk_indices_and_lens")
    if to_slots is None:
        to_slots = import_module("vllm.models.deepseek_v4.common.ops").compute_global_topk_indices_and_lens
    indices, lens = to_slots(
        layer.topk_indices_buffer[:num_tokens],
        swa_metadata.token_to_req_indices,
        attn_metadata.block_table[:num_requests],
        attn_metadata.block_size // layer.compress_ratio,
        swa_metadata.is_valid_token[:num_tokens],
    )
    return indices.view(num_tokens, 1, -1), lens


def serve(
    q: Any,
    swa_cache: Any,
    swa_indices: Any,
    swa_lens: Any,
    *,
    scale: float,
    sinks: Any,
    output: Any,
    num_heads: int,
    extra_cache: Any = None,
    extra_indices: Any = None,
    extra_lens: Any = None,
) -> None:
    """One decode step by the contract above, into output. Heads past ``num_heads`` are padding: their output is 0."""
    # Slots of a block: by these the calls of a model's two kinds of compressed layers are told apart at once.
    try:
        slots = None if extra_cache is None else extra_cache.size(1)
    except (AttributeError, IndexError, RuntimeError):
        slots = None  # no such cache: its views say what is wrong
    if extra_cache is None:
        extra_indices = extra_lens = None
    tensors = (q, swa_cache, swa_indices, swa_lens, sinks, output, extra_cache, extra_indices, extra_lens)
    _decode._run(tensors, _LAYER, (scale, num_heads, slots), False, None, None, None)
    if q.size(1) > num_heads:
        output.narrow(1, num_heads, q.size(1) - num_heads).zero_()


def _layer_views(given: tuple[Any, ...], tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a step decodes: the heads that count, and pools as (blocks, slots, row)."""
    _check_tensors(tensors)
    num_heads = whole("num_heads", given[1], 1)
    q, cache, indices, lens, sinks, output, extra_cache, *extra = tensors
    if q.dim() != 3:
        raise ArgumentError("q", "shape (T, padded heads, head_dim)", f"shape {tuple(q.shape)}")
    if q.shape[1] < num_heads or output.shape != q.shape:
        expected = f"q's shape {tuple(q.shape)}, with {num_heads} heads or more"
        raise ArgumentError("output", expected, tuple(output.shape))
    sinks = None if sinks is None else sinks[:num_heads]
    pools = [None if pool is None else _rows_of(pool) for pool in (cache, extra_cache)]
    return q[:, :num_heads], pools[0], indices, lens, sinks, output[:, :num_heads], pools[1], *extra


def _check_tensors(tensors: tuple[Any, ...]) -> None:
    for name, tensor in zip(_LAYER.names, tensors):
        if tensor is None and name in ("sinks", "extra_kv", "extra_indices", "extra_lens"):
            continue
        if not is_torch(tensor):
            raise ArgumentError(name, "a torch.Tensor", type(tensor).__qualname__)
        if tensor.is_nested:
            raise ArgumentError(name, "a strided tensor", "a nested one")


def _layer_options(given: tuple[Any, ...], tensors: tuple[Any, ...]) -> Options:
    _check_tensors(tensors)
    extra_cache = tensors[_LAYER.names.index("extra_kv")]
    return Options(
        scale=number("scale", given[0]),
        kv_format=_format_of(tensors[1]),
        extra_format=None if extra_cache is None else _format_of(extra_cache),
    )


_LAYER = Layout(
    ("q", "kv", "indices", "lens", "sinks", "out", "extra_kv", "extra_indices", "extra_lens"),
    _layer_options,
    derive=_layer_views,
)


def _rows_of(cache: Any) -> Any:
    """A cache without a dimension of its one KV head."""
    return cache[:, :, 0] if len(cache.shape) == 4 else cache


def _format_of(cache: Any) -> str:
    return "bf16" if cache.element_size() == 2 else _FORMATS.get(cache.shape[-1], "e4m3")
