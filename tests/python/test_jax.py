# SPDX-License-Identifier: Apache-2.0
"""JAX's arrays on the CPU, by DLPack, and capsules that are given out. test_gpu.py has them on a device."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cases
import swa_jit
from swa_jit import _dlpack


def test_jaxs_arrays_are_read_and_made():
    arguments, options = cases.problem(seed=1)
    q = jax.lax.bitcast_convert_type(jnp.asarray(arguments[0]), jnp.bfloat16)
    tensors = [jnp.asarray(value) for value in arguments[1:]]
    out, lse = swa_jit.decode(q, *tensors, inv_scale=jnp.asarray(options["inv_scale"]), lse=True)
    expected, log = swa_jit.decode(*arguments, lse=True, **options)
    assert isinstance(out, jax.Array) and out.dtype == jnp.bfloat16 and isinstance(lse, jax.Array)
    raw = np.asarray(jax.lax.bitcast_convert_type(out, jnp.uint16))
    assert np.array_equal(raw, expected) and np.array_equal(np.asarray(lse), log)
    merged = swa_jit.merge([out, out], [lse, lse])
    assert cases.worst_error(np.asarray(jax.lax.bitcast_convert_type(merged, jnp.uint16)), expected) < 1e-3


def test_float8_and_bfloat16_have_their_types():
    arguments, options = cases.problem(seed=2)
    q = jax.lax.bitcast_convert_type(jnp.asarray(arguments[0]), jnp.bfloat16)
    kv = jax.lax.bitcast_convert_type(jnp.asarray(arguments[1]), jnp.float8_e4m3fn)
    scales = jnp.asarray(options["inv_scale"]).astype(jnp.bfloat16)
    out = swa_jit.decode(q, kv, *map(jnp.asarray, arguments[2:]), inv_scale=scales)
    rounded = np.asarray(scales).astype(np.float32)
    expected = swa_jit.decode(*arguments, inv_scale=rounded)
    assert np.array_equal(np.asarray(jax.lax.bitcast_convert_type(out, jnp.uint16)), expected)


def test_arrays_of_jax_are_not_written_to():
    arguments, options = cases.problem(seed=3)
    frozen = jnp.zeros((3, 16, 512), jnp.uint16)
    with pytest.raises(swa_jit.ArgumentError, match="out: expected an array that can be written to"):
        swa_jit.decode(*arguments, out=frozen, **options)


class Given:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_wanted):
        return _dlpack.give(self.array.ctypes.data, self.array.shape, "float32", (1, 0), self.array)

    def __dlpack_device__(self):
        return 1, 0


def test_capsules_keep_their_memory_and_let_it_go():
    # JAX takes over what is aligned to 64 bytes.
    memory = np.zeros(64 + 16, np.float32)
    first = -memory.ctypes.data % 64 // 4
    array = memory[first : first + 64].reshape(4, 16)
    array[:] = np.arange(64).reshape(4, 16)
    before = len(_dlpack._given)
    taken = jax.dlpack.from_dlpack(Given(array), copy=False)
    assert len(_dlpack._given) == before + 1 and np.array_equal(np.asarray(taken), array)
    del taken
    import gc

    gc.collect()
    assert len(_dlpack._given) == before
    capsule = Given(array).__dlpack__()
    assert len(_dlpack._given) == before + 1
    address, shape, strides, dtype, device, _owner, is_read_only = _dlpack.take(Given(array), None)
    assert (shape, strides, dtype, device, is_read_only) == ((4, 16), (16, 1), "float32", ("cpu", 0), False)
    assert (ctypes.c_float * 64).from_address(address)[63] == 63.0
    del capsule, _owner
    gc.collect()
    assert len(_dlpack._given) == before
