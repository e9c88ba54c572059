# SPDX-License-Identifier: Apache-2.0
"""Random problems with NumPy: bf16 as raw uint16, e4m3 as bytes."""

import numpy as np

FOOTER_ROWS = {"footer_584": 584, "footer_528": 528}


def bf16(values):
    """bf16's bits, to nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def codes(rng, shape):
    """e4m3 without NaN."""
    found = rng.integers(0, 256, shape).astype(np.uint8)
    return np.where((found & 127) == 127, found - 1, found)


def pool(rng, fmt, num_blocks, block_size, head_dim, num_kv_heads=1):
    """A pool, and its scales where it has them."""
    shape = (num_blocks, block_size, num_kv_heads) if num_kv_heads > 1 else (num_blocks, block_size)
    if fmt == "bf16":
        return bf16(rng.standard_normal((*shape, head_dim))), None
    if fmt in FOOTER_ROWS:
        return footer_pool(rng, fmt, num_blocks, block_size), None
    scales = (0.002 + 0.01 * rng.random(num_blocks * block_size * num_kv_heads)).astype(np.float32)
    if num_kv_heads > 1:
        scales = scales.reshape(-1, num_kv_heads)
    return codes(rng, (*shape, head_dim)), scales if fmt == "e4m3_slot" else None


def footer_pool(rng, fmt, num_blocks, block_size):
    row = FOOTER_ROWS[fmt]
    flat = codes(rng, (num_blocks, block_size * row))
    data_row, scale_row = (576, 8) if fmt == "footer_584" else (512, 16)
    if fmt == "footer_584":
        for slot in range(block_size):
            at = slot * data_row + 448
            tail = bf16(rng.standard_normal((num_blocks, 64)))
            flat[:, at : at + 128] = tail.view(np.uint8).reshape(num_blocks, 128)
    first = block_size * data_row
    flat[:, first:] = rng.integers(118, 122, (num_blocks, block_size * scale_row))
    return flat.reshape(num_blocks, block_size, row)


def problem(seed=0, num_tokens=3, num_heads=16, head_dim=512, width=128, block_size=64, num_blocks=4, fmt="e4m3_slot"):
    """The positional and keyword arguments of swa_jit.decode."""
    rng = np.random.default_rng(seed)
    kv, inv_scale = pool(rng, fmt, num_blocks, block_size, head_dim)
    q = bf16(rng.standard_normal((num_tokens, num_heads, head_dim)))
    indices = rng.integers(-2, num_blocks * block_size + 2, (num_tokens, width)).astype(np.int32)
    lens = rng.integers(0, width + 2, num_tokens).astype(np.int32)
    lens[0] = width
    rest = {} if inv_scale is None else {"inv_scale": inv_scale}
    if fmt == "e4m3":
        rest["kv_scale"] = 0.005
    return (q, kv, indices, lens), rest


def worst_error(out, expected):
    """The largest relative error of a head, as docs/measurements.md has it."""
    found, right = from_bf16(out), from_bf16(expected)
    assert np.array_equal(np.isnan(found), np.isnan(right))
    difference = np.linalg.norm(np.nan_to_num(found - right), axis=-1)
    size = np.linalg.norm(np.nan_to_num(right), axis=-1)
    return float(np.max(np.where(size > 0, difference / np.maximum(size, 1e-30), difference)))
