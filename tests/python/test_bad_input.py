# SPDX-License-Identifier: Apache-2.0
"""Each wrong argument is an exception that names it, what is expected and what was given."""

import numpy as np
import pytest

import cases
import swa_jit


def call(**changes):
    (q, kv, indices, lens), rest = cases.problem()
    arguments = {"q": q, "kv": kv, "indices": indices, "lens": lens, **rest}
    for name, change in changes.items():
        arguments[name] = change(arguments[name]) if callable(change) else change
    positional = [arguments.pop(name) for name in ("q", "kv", "indices", "lens")]
    return swa_jit.decode(*positional, **{name: value for name, value in arguments.items() if value is not None})


REFUSED = [
    # argument, change, what the message says
    ("q", None, "expected a tensor"),
    (
        "q",
        [[1.0]],
        "expected a tensor of PyTorch, NumPy, or any with __dlpack__ or __cuda_array_interface__, given list",
    ),
    ("q", lambda q: q.astype(np.float32), "expected bfloat16, given float32"),
    ("q", lambda q: q[0], r"expected shape \(T, num_heads, head_dim\), given shape \(16, 512\)"),
    ("q", lambda q: q[:, :, ::-1], "side by side along its last dimension"),
    ("q", lambda q: q[::-1], "a positive stride in dimension 0, given a negative one"),
    ("q", lambda q: np.broadcast_to(q[:1], q.shape), "a positive stride in dimension 0, given an expanded one"),
    ("q", lambda q: q[:, :, :64], "kv: expected rows of q's head_dim, 64"),
    ("q", lambda q: q.byteswap().view(q.dtype.newbyteorder()), "the machine's byte order"),
    ("q", lambda q: q[:, :0], "num_heads"),
    ("q", lambda q: q[:, :, :0], "a num_heads and a head_dim of 1 or more"),
    ("kv", lambda kv: kv.astype(np.float32), "expected uint8 or float8_e4m3fn or int8, given float32"),
    ("kv", lambda kv: kv[0], "num_blocks, block_size, row"),
    ("kv", lambda kv: kv[:, :, ::2], "side by side"),
    ("kv", lambda kv: kv[::-1], "a negative one"),
    ("kv", lambda kv: kv[:, :, :500], "expected rows of q's head_dim, 512 elements"),
    ("kv", lambda kv: np.zeros((4, 64, 520), np.uint8)[:, :, :512], "slot_stride_bytes is 520"),
    ("indices", lambda i: i.astype(np.int16), "expected int32 or int64, given int16"),
    ("indices", lambda i: i.astype(np.float32), "expected int32 or int64, given float32"),
    ("indices", lambda i: i[:1], "a row for each of the 3 tokens"),
    ("indices", lambda i: i[0], r"shape \(T, W\), \(1, T, W\) or \(T, 1, W\)"),
    ("indices", lambda i: np.stack([i, i, i]), r"shape \(T, W\), \(1, T, W\) or \(T, 1, W\)"),
    ("indices", lambda i: i[:, ::2], "side by side"),
    ("indices", lambda i: np.broadcast_to(i[:1], i.shape), "an expanded one"),
    ("indices", lambda i: i[:, :0], "window_size is 0"),
    ("indices", lambda i: np.zeros((3, 9000), np.int32), "window_size is 9000"),
    ("lens", lambda n: n.astype(np.uint8), "expected int32 or int64, given uint8"),
    ("lens", lambda n: n[:2], "a length for each of the 3 tokens"),
    ("lens", lambda n: n[:, None], r"expected shape \(T,\)"),
    ("lens", lambda n: np.repeat(n, 2)[::2], "side by side"),
    ("lens", 5, "expected a tensor"),
    ("inv_scale", lambda s: s[:100], "256 scales or more"),
    ("inv_scale", lambda s: s.astype(np.float64), "expected float32 or bfloat16, given float64"),
    ("inv_scale", lambda s: np.repeat(s, 2)[::2], "without gaps"),
    ("block_size", 0, "a whole number from 1"),
    ("block_size", 64.5, "a whole number from 1 to 2147483647, given 64.5"),
    ("block_size", 65, "at most kv's 64 rows of a block"),
    ("scale", "big", "a Python number, given 'big'"),
    ("scale", 10**400, "a number that a float can be"),
    ("scale", np.ones(1), "a Python number, given a tensor of float64"),
    ("window_size", 129, "at most the 128 columns of indices, given 129"),
    ("window_size", -1, "a whole number from 1"),
    ("kv_format", "fp8", "e4m3_slot or e4m3 or bf16"),
    ("kv_format", "bf16", "kv: expected bfloat16, given uint8"),
    ("kv_format", "footer_584", r"expected shape \(num_blocks, block_size, 584\)"),
    ("kv_format", "e4m3", "inv_scale: expected none with kv_format e4m3"),
    ("sinks", np.zeros(16, np.float64), "expected float32"),
    ("sinks", np.zeros(15, np.float32), "a sink for each of the 16 heads"),
    ("sinks", np.zeros((16, 1), np.float32), r"shape \(num_heads,\)"),
    ("v_indices", np.zeros((3, 128), np.int32), "v: expected V's own pool"),
    ("extra_lens", np.zeros(3, np.int32), "extra_kv: expected the extra scope's pool"),
    ("extra_kv", np.zeros((4, 64, 512), np.uint8), "extra_indices: expected a tensor"),
    ("out", np.zeros((3, 16, 256), np.uint16), r"expected shape \(3, 16, 512\)"),
    ("out", np.zeros((3, 16, 512), np.float32), "expected bfloat16"),
    ("out", np.zeros((3, 16, 1024), np.uint16)[:, :, ::2], "side by side"),
    ("lse", np.zeros((16, 3), np.float32), r"expected shape \(3, 16\)"),
    ("lse", np.zeros((3, 16), np.float64), "expected float32"),
    ("lse_form", "base_10", "base_2 or with_sink or empty_plus_infinity"),
    ("lse_form", 8, "a whole number from 0 to 7"),
    ("lse_form", 5.5, "or several of them, given 5.5"),
    ("lse_form", [3], "or several of them, given 3"),
    ("dependent", "yes", "True or False, given 'yes'"),
    ("soft_cap", -1.0, "soft_cap"),
    ("soft_cap", np.ones(3), "a Python number"),
]


@pytest.mark.parametrize(
    "argument, change, text", REFUSED, ids=[f"{name}-{i}" for i, (name, _, _) in enumerate(REFUSED)]
)
def test_wrong_argument_is_named(fake, argument, change, text):
    """By the package's checks, or by the C library's at the launch."""
    with pytest.raises(swa_jit.InvalidError, match=text):
        call(**{argument: change}, library=fake)


@pytest.mark.parametrize("argument, change, text", [case for case in REFUSED if "_bytes" not in case[2]])
def test_float64_path_refuses_the_same(argument, change, text):
    if text in ("window_size is 0", "window_size is 9000"):
        with pytest.raises(swa_jit.Error, match=text):
            call(**{argument: change})
        return
    with pytest.raises(swa_jit.ArgumentError, match=text) as caught:
        call(**{argument: change})
    assert caught.value.argument and caught.value.expected and caught.value.given


@pytest.mark.parametrize("option, value", [("head_group", 3), ("kv_tile", 7), ("cluster_size", 3)])
def test_float64_path_refuses_what_no_kernel_has(option, value):
    with pytest.raises(swa_jit.InvalidError, match=f"{option} is {value}"):
        call(**{option: value})


@pytest.mark.parametrize(
    "options, text",
    [
        ({"kv_tile": 64}, "cluster_size 4 with kv_tile 64: set kv_tile to 128"),
        ({"head_group": 32}, "cluster_size 4 with head_group 32: set head_group to 8 or 16"),
        ({"num_splits": 2}, "cluster_size 4 with splits 1: set splits to 0"),
    ],
)
def test_what_clusters_do_not_take_is_told(fake, options, text):
    for library in (None, fake):
        with pytest.raises(swa_jit.InvalidError, match=text):
            call(cluster_size=4, library=library, **options)


def test_cluster_size_is_a_whole_number():
    for value in (-1, 4.0, True, "4"):
        with pytest.raises(swa_jit.ArgumentError, match="cluster_size: expected a whole number"):
            call(cluster_size=value)


def test_objects_of_another_kind_are_named():
    for name in ("library", "kernel"):
        with pytest.raises(swa_jit.ArgumentError, match=f"{name}: expected a swa_jit.{name.title()}, given str"):
            call(**{name: "here"})


def test_read_only_and_unaligned_results_are_refused(fake):
    frozen = np.zeros((3, 16, 512), np.uint16)
    frozen.flags.writeable = False
    with pytest.raises(swa_jit.ArgumentError, match="out: expected an array that can be written to"):
        call(out=frozen)
    memory = np.zeros(3 * 16 * 512 + 1, np.uint16)
    with pytest.raises(swa_jit.InvalidError, match="multiple of 16 bytes"):
        call(out=memory[1:].reshape(3, 16, 512), library=fake)


def test_numbers_on_a_device_are_no_numbers():
    """They would have to be waited for."""

    class OnDevice:
        shape = ()
        dtype = "float32"
        device = "cuda:0"

        def __float__(self):
            raise AssertionError("read by the host")

    for name in ("scale", "soft_cap", "kv_scale", "block_size", "window_size"):
        with pytest.raises(swa_jit.ArgumentError, match=f"{name}: expected"):
            call(**{name: OnDevice()})


class Pretender:
    """What says of itself that it lies on a device."""

    def __init__(self, address, shape=(3, 16, 512), typestr="<V2", **more):
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "typestr": typestr,
            **more,
        }


def test_memory_that_is_not_the_devices_is_refused(emulator):
    """An address of another process, of the host, or freed: the driver is asked before anything reads it."""
    host = np.zeros(4096, np.uint8)
    for address in (0xDEAD0000, host.ctypes.data, 64):
        with pytest.raises(swa_jit.ArgumentError, match="q: expected device memory of this process, given address 0x"):
            call(q=Pretender(address), library=emulator)
    with pytest.raises(swa_jit.ArgumentError, match="typestr '<f8'"):
        call(q=Pretender(16, typestr="<f8"), library=emulator)
    with pytest.raises(swa_jit.ArgumentError, match="without a mask"):
        call(q=Pretender(16, mask=host), library=emulator)


def test_tensors_of_two_devices_are_refused(emulator):
    with pytest.raises(swa_jit.ArgumentError, match="device"):
        call(kv=Pretender(0xDEAD0000, (4, 64, 512), "|u1"), library=emulator)


def test_broken_capsules_are_refused():
    class Broken:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_wanted):
            raise BufferError("not today")

    with pytest.raises(swa_jit.ArgumentError, match=r"q: expected a tensor that __dlpack__ gives out.*not today"):
        call(q=Broken())

    class Nothing(Broken):
        def __dlpack__(self, **_wanted):
            return 5

    with pytest.raises(swa_jit.ArgumentError, match="capsule"):
        call(q=Nothing())


def test_merge_names_what_is_wrong(fake):
    out, lse = np.zeros((2, 4, 64), np.uint16), np.zeros((2, 4), np.float32)
    for outs, lses, rest, text in [
        ([], [], {}, "outs: expected 1 to 8 parts"),
        (None, [lse], {}, "outs: expected a list or tuple of 1 to 8 parts, given NoneType"),
        ([out], lse, {}, "lses: expected a list or tuple of 1 to 8 parts, given numpy.ndarray"),
        ([out], [lse], {"dependent": 0.5}, "dependent: expected True or False, given 0.5"),
        ([out], [lse], {"library": "here"}, "library: expected a swa_jit.Library, given str"),
        ([out], [lse], {"lse_form": 5.5}, "lse_form: expected base_2"),
        ([out], [lse, lse], {}, "outs: expected 1 to 8 parts, and an LSE of each, given 1 and 2"),
        ([out] * 9, [lse] * 9, {}, "given 9 and 9"),
        ([out.astype(np.float32)], [lse], {}, r"outs\[0\]: expected bfloat16"),
        ([out, out[:1]], [lse, lse], {}, r"outs\[1\]: expected shape"),
        (
            [out, np.zeros((2, 8, 64), np.uint16)[:, ::2]],
            [lse, lse],
            {},
            r"outs\[1\]: expected the strides of outs\[0\]",
        ),
        ([out], [lse.T], {}, r"lses\[0\]: expected shape \(2, 4\)"),
        ([out], [lse], {"sinks": np.zeros(3, np.float32)}, "sinks: expected a sink for each of the 4"),
        ([out], [lse], {"out": out[:, :, :32]}, "out: expected shape"),
        ([out], [lse], {"lse": lse[:1]}, "lse: expected shape"),
        ([out], [lse], {"parts_form": "with_sink", "library": fake}, "parts_form"),
    ]:
        with pytest.raises(swa_jit.InvalidError, match=text):
            swa_jit.merge(outs, lses, **rest)
