# SPDX-License-Identifier: Apache-2.0
"""Config, Library, Kernel, statistics and their errors: no device is needed but where it is named."""

import logging
import pickle

import pytest

import swa_jit
from swa_jit import Config, Library, _native, _plan, _problem


def test_config_text_goes_both_ways():
    config = Config.from_text("arch=sm_90a head_dim=192 head_dim_v=128 kv_format=bf16 sinks=1 window_size=256")
    assert (config.arch, config.head_dim, config.head_dim_v, config.kv_format) == ("sm_90a", 192, 128, "bf16")
    assert config.sinks is True and config.lse is True and config.splits is False
    assert Config.from_text(config.to_text()) == config
    assert Config.from_text("").arch == "sm_100a"
    assert Config(arch="native").to_text().startswith("arch=native")
    clusters = Config(arch="sm_90a", kv_tile=128, cluster_size=4)
    assert " cluster_size=4" in clusters.to_text() and Config.from_text(clusters.to_text()) == clusters
    assert clusters._struct().cluster_size == 4 and Config._of_struct(clusters._struct()) == clusters
    assert Config.from_text("arch=sm_90a kv_tile=128 cluster_size=4").cluster_size == 4
    assert Config.from_text("arch=sm_90a").cluster_size == 0


@pytest.mark.parametrize(
    "fields, error, text",
    [
        ({"kv_format": "fp8"}, swa_jit.ArgumentError, "kv_format: expected 'e4m3_slot' or"),
        ({"index_type": "int16"}, swa_jit.ArgumentError, "index_type: expected 'int32' or 'int64', given 'int16'"),
        ({"head_dim": -1}, swa_jit.ArgumentError, "head_dim: expected a whole number"),
        ({"head_dim": 2**32 + 512}, swa_jit.ArgumentError, "head_dim: expected a whole number"),
        ({"head_dim": 512.0}, swa_jit.ArgumentError, "given 512.0"),
        ({"head_dim": 100}, swa_jit.InvalidError, "SWA_JIT_INVALID: head_dim is 100: use 64, 96"),
        ({"arch": "sm_70"}, swa_jit.InvalidError, "sm_70"),
        ({"arch": "native"}, swa_jit.InvalidError, "native"),
        ({"cluster_size": 2, "kv_tile": 128}, swa_jit.InvalidError, "SWA_JIT_INVALID: cluster_size is 2: use 0"),
        ({"cluster_size": 4}, swa_jit.InvalidError, "cluster_size 4 with kv_tile 16: set kv_tile to 128"),
        ({"cluster_size": 4, "kv_tile": 128, "splits": True}, swa_jit.InvalidError, "set splits to 0"),
        ({"cluster_size": 4, "kv_tile": 128, "arch": "sm_89"}, swa_jit.UnsupportedError, "come with sm_90a"),
        ({"arch": "sm_120a", "kv_format": "bf16", "kv_tile": 128}, swa_jit.UnsupportedError, "SWA_JIT_UNSUPPORTED"),
    ],
)
def test_wrong_configuration_is_told(fields, error, text):
    with pytest.raises(error) as caught:
        Config(**{"arch": "sm_90a", **fields}).check()
    assert text in str(caught.value)
    assert isinstance(caught.value, swa_jit.Error) and caught.value.status == error.status


def test_config_check_and_picks():
    config = Config(arch="sm_90a", kv_format="footer_584", extra_size=512, extra_format="footer_584")
    assert 16384 < config.check() < 232448
    picked = config.pick(256, 128)
    assert picked.head_group > 16 and picked.replace(head_group=16, kv_tile=16) == config
    assert config.pick_splits(1, 64) == 1
    assert config.replace(splits=True).pick(1, 64).pick_splits(1, 64) > 1
    with pytest.raises(swa_jit.InvalidError):
        config.pick(0, 128)


@pytest.fixture
def pick_of_clusters(monkeypatch):
    """The C library's pick, which takes clusters wherever they are legal."""
    real = _native.native().pick

    def pick(num_tokens, num_heads, num_sms, config):
        struct = config._obj
        if struct.splits or struct.window_size > 128:
            status = real(num_tokens, num_heads, num_sms, config)
            struct.cluster_size = 0
            return status
        struct.head_group, struct.kv_tile, struct.cluster_size = 8, 128, 4
        return 0

    monkeypatch.setattr(_native.native(), "pick", pick)


def test_pick_takes_the_cluster_size(pick_of_clusters):
    config = Config(arch="sm_90a")
    assert config.pick(1, 64) == config.replace(head_group=8, kv_tile=128, cluster_size=4)
    assert config.replace(window_size=256).pick(1, 64).cluster_size == 0


@pytest.mark.parametrize(
    "given, head_group, kv_tile, cluster_size",
    [
        ({}, 8, 128, 4),
        ({"num_splits": 1}, 8, 128, 4),
        ({"num_splits": 2}, "picked", "picked", 0),
        ({"cluster_size": 4}, 16, 128, 4),
        ({"cluster_size": 4, "head_group": 8}, 8, 128, 4),
        ({"cluster_size": 4, "kv_tile": 64}, 16, 64, 4),
        ({"cluster_size": 0}, "picked", "picked", 0),
        ({"head_group": 32}, 32, "picked", 0),
        ({"kv_tile": 32}, "picked", 32, 0),
        ({"head_group": 32, "kv_tile": 64}, 32, 64, 0),
        ({"head_group": 8, "kv_tile": 128, "cluster_size": 0}, 8, 128, 0),
    ],
)
def test_what_is_not_given_is_picked(pick_of_clusters, given, head_group, kv_tile, cluster_size):
    """What a caller fixes brings no clusters, which have tiles of their own, unless it is their size."""
    problem = _problem.Problem(Config(), _native.DecodeArgs(), 1, 64, 1, 512)
    config, num_splits = _plan.choose(problem, _problem.Options(**given), _plan.Device(0, "sm_90a", 132))
    picked = Config(arch="sm_90a", splits=True).pick(1, 64, 132)
    assert config.head_group == (picked.head_group if head_group == "picked" else head_group)
    assert config.kv_tile == (picked.kv_tile if kv_tile == "picked" else kv_tile)
    assert config.cluster_size == cluster_size
    assert config.splits is (num_splits > 1) and num_splits == given.get("num_splits", 1)


def test_kernels_are_made_without_a_device(store):
    with Library(log_level="debug") as library:
        config = Config(arch="sm_90a", head_dim=64, kv_format="bf16")
        try:
            cubin, info = library.cubin(config)
        except swa_jit.NoCompilerError as error:
            pytest.skip(str(error))
        assert cubin[:4] == b"\x7fELF" and len(cubin) == info.cubin_bytes
        assert info.arch == "sm_90a" and info.origin in ("compiled", "store") and info.num_registers > 0
        assert (store / info.file_name).is_file() and library.store_has(config)
        assert "head_dim=64" in info.key_text.replace(" ", "") or "head_dim" in library.key_text(config)
        assert "head_dim = 64" in library.source(config)
        assert ".target sm_90a" in library.ptx(config) and isinstance(library.log_text(config), str)
        assert library.is_open
        assert not library.store_has(config.replace(sinks=True))
        library.store_check()
        stats = library.stats()
        assert stats.compiles + stats.store_hits >= 1 and swa_jit.stats(library) == library.stats()
        assert [each.file_name for each in swa_jit.warm(config, library=library)] == [info.file_name]
    with pytest.raises(swa_jit.InvalidError, match="closed"):
        library.cubin(config)
    library.close()
    assert not library.is_open
    with Library(no_compile=True) as library:
        assert library.cubin(config)[1].origin == "store"
        with pytest.raises(swa_jit.NoCompilerError) as caught:
            library.cubin(config.replace(sinks=True))
        assert caught.value.status is swa_jit.Status.NO_COMPILER and "swa-jit-warm" in caught.value.message


def test_options_are_the_librarys(tmp_path):
    with pytest.raises(swa_jit.StoreError, match="SWA_JIT_STORE_ERROR"):
        Library(cache_dir="/dev/null")
    with pytest.raises(swa_jit.ArgumentError, match="log_level"):
        Library(log_level="loud")
    with Library(cache_dir=tmp_path / "own", no_store=True) as library, pytest.raises(swa_jit.StoreError):
        library.store_check()
    with Library(cuda_path="/nowhere/libcuda.so") as library, pytest.raises(swa_jit.NoDriverError, match="/nowhere"):
        library.arch_native()


def test_log_goes_to_pythons(caplog, tmp_path):
    caplog.set_level(logging.DEBUG, "swa_jit")
    with Library(cache_dir=tmp_path / "s", log_level="debug") as library:
        library.key_text(Config(arch="sm_90a"))
        with pytest.raises(swa_jit.InvalidError):
            library.key_text(Config(arch="sm_90a", head_dim=100))
    levels = {record.levelname for record in caplog.records if record.name == "swa_jit"}
    assert "ERROR" in levels and any("head_dim is 100" in record.getMessage() for record in caplog.records)


def test_default_library_can_be_replaced(tmp_path):
    mine = Library(cache_dir=tmp_path / "mine")
    before = swa_jit.set_default_library(mine)
    try:
        assert swa_jit.default_library() is mine
        mine.close()
        assert swa_jit.default_library() is not mine
    finally:
        swa_jit.set_default_library(before)


def test_errors_can_be_sent():
    error = swa_jit.ArgumentError("q", "bfloat16", "float32")
    again = pickle.loads(pickle.dumps(error))
    assert (again.argument, again.expected, again.given) == ("q", "bfloat16", "float32")
    assert isinstance(again, ValueError) and str(again) == "SWA_JIT_INVALID: q: expected bfloat16, given float32"


def test_kernel_is_got_and_told_of(fake):
    config = Config(arch="sm_90a", head_group=16, kv_tile=64)
    kernel = fake.kernel(config)
    assert kernel.info().num_threads >= 32 and "sm_90a" in repr(kernel)
    assert kernel.workspace_bytes(4, 128) == 0
    split = fake.kernel(config.replace(window_size=1024, splits=True))
    assert split.workspace_bytes(4, 128, 1, 4) > 4 * 128 * 512
    with pytest.raises(swa_jit.InvalidError):
        split.workspace_bytes(4, 0)
    with pytest.raises(swa_jit.NoDeviceError):
        fake.kernel(config.replace(arch="sm_100a"))
