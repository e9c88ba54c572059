# SPDX-License-Identifier: Apache-2.0
"""decode and the seed's function on NumPy tensors: the float64 path by hand and against the C reference, and the
kernels themselves on the emulator."""

import logging

import numpy as np
import pytest

import cases
import swa_jit
from swa_jit._reference import from_bf16, to_bf16

FORMATS = ("e4m3_slot", "e4m3", "bf16", "footer_584", "footer_528")


def both(arguments, options, library, limit=4e-3):
    """The float64 path against a device's result; the worst error of a head."""
    expected, log = swa_jit.decode(*arguments, lse=True, **options)
    out, found = swa_jit.decode(*arguments, lse=True, library=library, **options)
    assert cases.worst_error(out, expected) <= limit
    finite = np.isfinite(log)
    assert np.array_equal(finite, np.isfinite(found)) and np.array_equal(log[~finite], found[~finite], equal_nan=True)
    assert np.max(np.abs(log[finite] - found[finite]), initial=0) <= 1e-3
    return out


# ---- by hand --------------------------------------------------------------------------------------------------


def test_bf16_rounds_once_to_nearest_even():
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-40, 1 + 2**-8 - 2**-40, -2.5, np.inf, 1e300, 0.0])
    right = [1.0, 1.0, 1 + 2**-6, 1 + 2**-7, 1.0, -2.5, np.inf, np.inf, 0.0]
    assert from_bf16(to_bf16(values)).tolist() == right
    assert np.isnan(from_bf16(to_bf16(np.array([np.nan])))[0])


def test_two_positions_by_hand():
    """Scores ln 3 and 0: weights 3/4 and 1/4."""
    q = cases.bf16(np.zeros((1, 1, 64)))
    q[0, 0, 0] = cases.bf16(1.0)
    kv = np.zeros((1, 2, 64), np.float32)
    kv[0, 0, 1], kv[0, 1, 1] = 4.0, 8.0
    kv[0, 0, 0] = 1.0
    indices, lens = np.array([[0, 1]], np.int32), np.array([2], np.int32)
    out, lse = swa_jit.decode(q, cases.bf16(kv), indices, lens, scale=float(np.log(3)), lse=True)
    found = from_bf16(out)[0, 0]
    assert found[1] == 5.0 and found[0] == 0.75 and not found[2:].any()
    assert abs(lse[0, 0] - np.log(4)) < 1e-6
    # A sink of ln 4 doubles the sum; base 2, with the sink.
    sinks = np.array([np.log(4)], np.float32)
    out, lse = swa_jit.decode(
        q,
        cases.bf16(kv),
        indices,
        lens,
        scale=float(np.log(3)),
        sinks=sinks,
        lse=True,
        lse_form=["base_2", "with_sink"],
    )
    assert from_bf16(out)[0, 0, 1] == 2.5 and abs(lse[0, 0] - 3) < 1e-6


def test_every_code_of_e4m3():
    """Of one position the result is its row: all 256 bytes, by their definition."""
    q = cases.bf16(np.zeros((1, 1, 512)))
    kv = np.tile(np.arange(256, dtype=np.uint8), 2).reshape(1, 1, 512)
    kv[(kv & 127) == 127] = 0
    out = from_bf16(swa_jit.decode(q, kv, np.zeros((1, 1), np.int32), np.ones(1, np.int32), kv_scale=1.0))[0, 0]
    right = []
    for code in kv[0, 0].tolist():
        sign = -1.0 if code & 128 else 1.0
        exponent, mantissa = (code >> 3) & 15, code & 7
        right.append(sign * (mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)))
    assert out.tolist() == right and max(right) == 448.0


def test_masked_slots_and_lengths_have_no_effect():
    (q, kv, indices, lens), rest = cases.problem(seed=3, num_tokens=4)
    lens[:] = [5, 0, -3, 128]
    indices[3] = [-1, 256, 2**31 - 1, -(2**31)] * 32
    out, lse = swa_jit.decode(q, kv, indices, lens, lse=True, **rest)
    assert not out[1:].any() and np.isneginf(lse[1:]).all() and np.isfinite(lse[0]).all()
    spoiled = indices.copy()
    spoiled[0, 5:] = 0
    assert np.array_equal(out, swa_jit.decode(q, kv, spoiled, lens, **rest))
    plus = swa_jit.decode(q, kv, indices, lens, lse=True, lse_form="empty_plus_infinity", **rest)[1]
    assert np.isposinf(plus[1:]).all() and np.array_equal(plus[0], lse[0])


# ---- against the C reference ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_formats_are_the_c_references(fake, fmt):
    arguments, rest = cases.problem(seed=len(fmt), fmt=fmt, block_size=6, num_blocks=40)
    sinks = np.linspace(-2, 2, 16).astype(np.float32)
    # Both are float64 rounded once: the same bits, but for ties of sums in another order.
    assert both(arguments, {**rest, "sinks": sinks}, fake, 1e-4) is not None


def test_extra_scope_is_the_c_references(fake):
    arguments, rest = cases.problem(seed=5, fmt="footer_584", num_heads=8)
    (_q, kv, indices, lens), _ = cases.problem(seed=6, fmt="footer_584", num_blocks=70, block_size=2, width=192)
    extra = {"extra_kv": kv, "extra_indices": indices, "extra_lens": lens, "sinks": np.zeros(8, np.float32)}
    both(arguments, {**rest, **extra}, fake, 1e-4)
    del extra["extra_lens"]
    both(arguments, {**rest, **extra, "num_splits": 2}, fake, 1e-4)


def test_separate_v_and_heads_on_the_emulator(emulator):
    rng = np.random.default_rng(9)
    k, k_scale = cases.pool(rng, "e4m3_slot", 5, 16, 192, num_kv_heads=4)
    v, v_scale = cases.pool(rng, "e4m3_slot", 5, 16, 128, num_kv_heads=4)
    q = cases.bf16(rng.standard_normal((3, 12, 192)))
    indices = rng.integers(-1, 82, (3, 100))
    v_indices = rng.integers(-1, 82, (3, 100))
    lens = np.array([100, 17, 3], np.int64)
    options = {"inv_scale": k_scale, "v": v, "v_inv_scale": v_scale, "v_indices": v_indices, "soft_cap": 0.7}
    assert both((q, k, indices, lens), options, emulator).shape == (3, 12, 128)


def test_strided_tensors_are_read_where_they_are(emulator):
    """Every tensor a slice of a larger one; the results' gaps stay as they were."""
    (q, kv, indices, lens), rest = cases.problem(seed=11, fmt="bf16", num_heads=4, head_dim=64, block_size=8)
    wide_q = np.full((3, 9, 72), 0x7FC0, np.uint16)
    wide_q[:, 1:9:2, 8:72] = q
    wide_kv = np.full((4, 3, 8, 128), 0x7FC0, np.uint16)
    wide_kv[:, 1, :, 64:] = kv
    wide_indices = np.full((3, 150), 10**6, np.int32)
    wide_indices[:, 10:138] = indices
    wide_out, wide_lse = np.full((3, 8, 64), 7, np.uint16), np.full((4, 3), 7, np.float32)
    expected, log = swa_jit.decode(q, kv, indices, lens, lse=True, **rest)
    for library in (None, emulator):
        wide_out[:], wide_lse[:] = 7, 7
        out, lse = swa_jit.decode(
            wide_q[:, 1:9:2, 8:72],
            wide_kv[:, 1, :, 64:],
            wide_indices[:, 10:138],
            lens,
            out=wide_out[:, ::2],
            lse=wide_lse.T,
            library=library,
        )
        assert np.shares_memory(out, wide_out) and np.shares_memory(lse, wide_lse)
        assert cases.worst_error(wide_out[:, ::2], expected) <= 3e-3 and np.allclose(wide_lse.T, log, atol=1e-3)
        assert (wide_out[:, 1::2] == 7).all()


def test_no_tokens_launch_nothing(fake):
    (q, kv, indices, lens), rest = cases.problem(num_tokens=1)
    for library in (None, fake):
        out, lse = swa_jit.decode(q[:0], kv, indices[:0], lens[:0], lse=True, library=library, **rest)
        assert out.shape == (0, 16, 512) and lse.shape == (0, 16)


def test_empty_pool_masks_everything(fake):
    (q, kv, indices, lens), rest = cases.problem()
    for library in (None, fake):
        out = swa_jit.decode(q, kv[:0], indices, lens, inv_scale=rest["inv_scale"][:0], library=library)
        assert not out.any()


# ---- the seed's function ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["2d", "1TW", "T1W"])
@pytest.mark.parametrize("index_type, lens_type", [(np.int32, np.int64), (np.int64, np.int32)])
@pytest.mark.parametrize("is_column", [False, True])
def test_seed_takes_every_documented_shape(fake, form, index_type, lens_type, is_column):
    (q, kv, indices, lens), rest = cases.problem(seed=21, num_tokens=2)
    given = indices.astype(index_type)
    given = {"2d": given, "1TW": given[None], "T1W": given[:, None]}[form]
    scales = rest["inv_scale"][:, None] if is_column else rest["inv_scale"]
    expected = swa_jit.decode(q, kv, indices, lens, scale=0.05, **rest)
    out = swa_jit.native_swa_decode_attention(q, kv, scales, given, lens.astype(lens_type), 64, 0.05)
    assert np.array_equal(out, expected)


def test_seed_counts_the_first_rows_and_columns():
    """More rows than tokens, fewer columns than window_size, more columns than window_size."""
    (q, kv, indices, lens), rest = cases.problem(seed=22, num_tokens=5)
    all_of = swa_jit.native_swa_decode_attention(q, kv, rest["inv_scale"], indices, lens, 64, 0.05)
    two = swa_jit.native_swa_decode_attention(q[:2], kv, rest["inv_scale"], indices[None], lens, 64, 0.05)
    assert np.array_equal(two, all_of[:2])
    narrow = swa_jit.native_swa_decode_attention(q, kv, rest["inv_scale"], indices[:, :40], lens, 64, 0.05)
    cut = swa_jit.native_swa_decode_attention(q, kv, rest["inv_scale"], indices, lens, 64, 0.05, window_size=40)
    assert np.array_equal(narrow, cut)
    assert np.array_equal(cut, swa_jit.decode(q, kv, indices, np.minimum(lens, 40), scale=0.05, **rest))


def test_seed_reads_blocks_by_block_size():
    """Slots are counted by block_size, also where a block has room for more rows."""
    (q, kv, indices, lens), rest = cases.problem(seed=23)
    roomy = np.zeros((4, 80, 512), np.uint8)
    roomy[:, :64] = kv
    arguments = (rest["inv_scale"], indices, lens, 64, 0.05)
    expected = swa_jit.native_swa_decode_attention(q, kv, *arguments)
    assert np.array_equal(expected, swa_jit.native_swa_decode_attention(q, roomy, *arguments))


def test_seed_writes_where_it_is_told(fake):
    (q, kv, indices, lens), rest = cases.problem(seed=24)
    out, lse = np.empty_like(q), np.empty((3, 16), np.float32)
    sinks = np.zeros(16, np.float32)
    found = swa_jit.native_swa_decode_attention(
        q, kv, rest["inv_scale"], indices, lens, 64, 0.05, out=out, lse=lse, sinks=sinks
    )
    assert found[0] is out and found[1] is lse
    assert np.array_equal(out, swa_jit.decode(q, kv, indices, lens, scale=0.05, sinks=sinks, **rest))


@pytest.mark.parametrize("tiles", [{}, {"head_group": 8}, {"head_group": 16, "kv_tile": 128}])
def test_clusters_change_no_result_on_the_cpu(tiles):
    arguments, rest = cases.problem(seed=25)
    right = swa_jit.decode(*arguments, lse=True, **rest)
    found = swa_jit.decode(*arguments, lse=True, cluster_size=4, **tiles, **rest)
    assert np.array_equal(found[0], right[0]) and np.array_equal(found[1], right[1])


# ---- the kernels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["e4m3_slot", "footer_584"])
def test_kernels_on_the_emulator(emulator, fmt):
    arguments, rest = cases.problem(seed=31, fmt=fmt, num_tokens=2)
    both(arguments, rest, emulator)


def test_splits_and_extra_scope_on_the_emulator(emulator):
    arguments, rest = cases.problem(seed=32, fmt="footer_584", num_tokens=1)
    (_q, kv, indices, _lens), _ = cases.problem(seed=33, fmt="footer_584", num_tokens=1, width=256)
    both(arguments, {**rest, "extra_kv": kv, "extra_indices": indices, "num_splits": 2}, emulator)


def test_merge_on_the_emulator(emulator):
    (q, kv, indices, lens), rest = cases.problem(seed=34, num_tokens=2)
    lens[:] = 128
    halves = [swa_jit.decode(q, kv, indices[:, part], lens, lse=True, **rest) for part in (slice(64), slice(64, 128))]
    outs, lses = [half[0] for half in halves], [half[1] for half in halves]
    sinks = np.linspace(-1, 1, 16).astype(np.float32)
    expected, log = swa_jit.decode(q, kv, indices, lens, sinks=sinks, lse=True, **rest)
    for library in (None, emulator):
        out, lse = swa_jit.merge(outs, lses, sinks=sinks, lse=True, library=library)
        assert cases.worst_error(out, expected) < 6e-3 and np.allclose(lse, log, atol=1e-3)


def test_log_says_what_ran(emulator, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "swa_jit")
    arguments, rest = cases.problem(num_tokens=1, num_heads=8)
    swa_jit.decode(*arguments, **rest)
    assert "decode: CPU tensors run in float64 on the CPU" in caplog.text
    caplog.clear()
    swa_jit.decode(*arguments, library=emulator, **rest)
    assert "decode: CPU tensors run on Emulated H200 (sm_90a)" in caplog.text
    caplog.clear()
    monkeypatch.setenv("SWA_JIT_CPU", "emulator")
    swa_jit.decode(*arguments, **rest)
    assert "Emulated" in caplog.text


def test_kernel_of_the_callers_own(emulator):
    (q, kv, indices, lens), rest = cases.problem(num_tokens=1, seed=35)
    config = swa_jit.Config(arch="sm_90a", head_group=16, kv_tile=16, lse=False)
    kernel = emulator.kernel(config)
    out = swa_jit.decode(q, kv, indices, lens, kernel=kernel, **rest)
    assert cases.worst_error(out, swa_jit.decode(q, kv, indices, lens, **rest)) < 4e-3
    with pytest.raises(swa_jit.UnsupportedError, match="lse"):
        swa_jit.decode(q, kv, indices, lens, kernel=kernel, lse=True, **rest)
    with pytest.raises(swa_jit.ArgumentError, match="kernel: expected one with index_type=int64"):
        swa_jit.decode(q, kv, indices.astype(np.int64), lens, kernel=kernel, **rest)
    with pytest.raises(swa_jit.ArgumentError, match="window_size"):
        swa_jit.decode(q, kv, indices[:, :64], lens, kernel=kernel, **rest)
