# SPDX-License-Identifier: Apache-2.0
"""Library and kernel objects, statistics, and the library object that calls use when they name none."""

from __future__ import annotations

import ctypes
import dataclasses
import logging
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Union

from . import _find, _native
from ._config import Config, arch_name
from ._errors import ArgumentError, InvalidError, Status

logger = logging.getLogger("swa_jit")
logger.addHandler(logging.NullHandler())  # a program that sets up no logging hears nothing: the exceptions say it all

_LOG_LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}
_LEVEL_NAMES = {"error": 1, "warn": 2, "info": 3, "debug": 4}
_FLAGS = {
    "no_compile": 1,
    "read_only": 2,
    "same_compiler": 4,
    "no_store": 8,
    "foreign_owner": 16,
    "group_shared": 32,
    "all_read": 64,
    "keep_ptx": 128,
    "use_ptx": 256,
}
_ORIGINS = ("none", "store", "compiled")
Path = Union[str, "os.PathLike[str]"]


def _log_line(_data: int | None, level: int, line: bytes) -> None:
    logger.log(_LOG_LEVELS.get(level, logging.INFO), "%s", line.decode("utf-8", "replace"))


_log_callback = _native.LogFn(_log_line)


@dataclass(frozen=True)
class KernelInfo:
    """swa_jit_kernel_info: where a kernel came from and what it uses."""

    arch: str
    origin: str
    store_status: Status
    num_threads: int
    shared_memory_bytes: int
    num_registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    nvrtc_version: int
    cubin_bytes: int
    compile_ns: int
    get_ns: int
    file_name: str
    key_text: str
    miss_reason: str


@dataclass(frozen=True)
class Stats:
    """swa_jit_stats: a library object's counters since it was opened."""

    store_hits: int
    store_misses: int
    store_set_aside: int
    store_writes: int
    store_write_failures: int
    store_bytes_read: int
    store_bytes_written: int
    lock_waits: int
    lock_failures: int
    compiles: int
    compile_failures: int
    compile_ns: int
    loads: int
    load_ns: int
    layer_hits: int
    layer_skips: int
    evictions: int
    evicted_bytes: int
    failures_remembered: int


class Kernel:
    """A kernel that is ready to launch, from :meth:`Library.kernel`. It lives as long as its library object."""

    __slots__ = ("address", "config", "library")

    def __init__(self, library: Library, config: Config, address: int) -> None:
        self.library = library
        self.config = config
        self.address = address

    def info(self) -> KernelInfo:
        """What is known of the kernel."""
        self.library.handle()
        lib = _native.native()
        info = _native.KernelInfo(size=ctypes.sizeof(_native.KernelInfo))
        lib.check(lib.kernel_get_info(self.address, ctypes.byref(info)))
        return _info_of(info)

    def workspace_bytes(self, num_tokens: int, num_heads: int, num_kv_heads: int = 1, num_splits: int = 1) -> int:
        """How large a launch's workspace must be; 0 for a kernel without splits."""
        self.library.handle()
        lib = _native.native()
        count = ctypes.c_uint64()
        lib.check(
            lib.workspace_bytes(self.address, num_tokens, num_heads, num_kv_heads, num_splits, ctypes.byref(count))
        )
        return count.value

    def __repr__(self) -> str:
        return f"swa_jit.Kernel({self.config.to_text()!r})"


class Library:
    """A library object: its kernels, its cubin store and its options. Any thread may call it.

    Each option left out is read from its environment variable, else it has the C library's default
    (docs/api-conventions.md). Its log goes to the logger "swa_jit" of Python's logging; ``log_level`` ("error",
    "warn", "info" or "debug") is how much of it the library makes.

    Close it, or use it in ``with``, when no kernel of it runs any more; one that is dropped instead stays until the
    process ends.
    """

    def __init__(
        self,
        *,
        cache_dir: Path | None = None,
        cache_path: str | None = None,
        cache_limit_bytes: int = 0,
        nvrtc_path: Path | None = None,
        cuda_path: Path | None = None,
        dump_dir: Path | None = None,
        record_path: Path | None = None,
        lock_wait_ms: int = 0,
        log_level: str = "info",
        no_compile: bool = False,
        read_only: bool = False,
        same_compiler: bool = False,
        no_store: bool = False,
        foreign_owner: bool = False,
        group_shared: bool = False,
        all_read: bool = False,
        keep_ptx: bool = False,
        use_ptx: bool = False,
    ) -> None:
        flags = {name: value for name, value in locals().items() if name in _FLAGS}
        if log_level not in _LEVEL_NAMES:
            raise ArgumentError("log_level", ", ".join(_LEVEL_NAMES), repr(log_level))
        lib = _native.native()
        options = _native.Options()
        lib.options_init_sized(ctypes.byref(options), ctypes.sizeof(options))
        options.flags = sum(_FLAGS[name] for name, value in flags.items() if value)
        options.log_level = _LEVEL_NAMES[log_level]
        options.lock_wait_ms = lock_wait_ms
        options.log = _log_callback
        options.cache_limit_bytes = cache_limit_bytes
        options.cache_path = None if cache_path is None else os.fsencode(cache_path)
        for name, path in (
            ("cache_dir", cache_dir),
            ("nvrtc_path", nvrtc_path),
            ("cuda_path", cuda_path),
            ("dump_dir", dump_dir),
            ("record_path", record_path),
        ):
            setattr(options, name, None if path is None else os.fsencode(path))
        handle = ctypes.c_void_p()
        lib.check(lib.open(ctypes.byref(options), ctypes.byref(handle)))
        self._handle: ctypes.c_void_p | None = handle
        self._kernels: dict[tuple[Config, int | None], Kernel] = {}
        self._has_nvrtc = nvrtc_path is not None or no_compile
        # What the driver's name is, for the CPU device and for messages.
        self.cuda_path = os.fspath(cuda_path) if cuda_path is not None else os.environ.get("SWA_JIT_CUDA") or None

    def handle(self) -> ctypes.c_void_p:
        """The C library's object; raises when this is closed."""
        if self._handle is None:
            raise InvalidError("the library object is closed: open another")
        return self._handle

    @property
    def is_open(self) -> bool:
        """False after :meth:`close`."""
        return self._handle is not None

    def close(self) -> None:
        """Unloads every kernel. No other thread may be in a call with it, and none of its kernels may still run."""
        handle, self._handle = self._handle, None
        self._kernels.clear()
        if handle is not None:
            _native.native().close(ctypes.byref(handle))

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def kernel(self, config: Config, *, device: int | None = None) -> Kernel:
        """The kernel of a configuration: held, from the store, or compiled, which takes a second or so. It is loaded
        into the context that is current. ``device``: that context's device, by which what is held is found again."""
        held = self._kernels.get((config, device))
        if held is not None and self._handle is not None:
            return held
        handle = self.handle()
        lib = _native.native()
        self._prepare_compiler(config)
        address = ctypes.c_void_p()
        lib.check(lib.kernel_get(handle, ctypes.byref(config._struct()), ctypes.byref(address)))
        assert address.value is not None
        kernel = Kernel(self, config, address.value)
        if device is not None:
            self._kernels[(config, device)] = kernel
        return kernel

    def holds(self, config: Config, device: int | None) -> bool:
        """Whether :meth:`kernel` was called for this configuration on this device, so that it loads nothing now."""
        return (config, device) in self._kernels

    def cubin(self, config: Config) -> tuple[bytes, KernelInfo]:
        """The machine code of a configuration whose ``arch`` is named, and what is known of it. Needs no device."""
        handle = self.handle()
        lib = _native.native()
        self._prepare_compiler(config)
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        info = _native.KernelInfo(size=ctypes.sizeof(_native.KernelInfo))
        struct = config._struct()
        lib.check(
            lib.cubin_get(handle, ctypes.byref(struct), ctypes.byref(address), ctypes.byref(size), ctypes.byref(info))
        )
        assert address.value is not None
        return ctypes.string_at(address.value, size.value), _info_of(info)

    def warm(self, configs: Iterable[Config]) -> list[KernelInfo]:
        """Makes sure that the store has these, and tells of each. Needs no device where ``arch`` is named. The tool
        ``python -m swa_jit warm`` does the same for models, on all cores."""
        return [self.cubin(config)[1] for config in configs]

    def source(self, config: Config) -> str:
        """The rendered source."""
        return self._text("source", config)

    def key_text(self, config: Config) -> str:
        """The key, one name=value a line."""
        return self._text("key_text", config)

    def ptx(self, config: Config) -> str:
        """The PTX, compiled afresh."""
        self._prepare_compiler(config)
        return self._text("ptx", config)

    def log_text(self, config: Config) -> str:
        """The compiler's log; empty for what the store has."""
        self._prepare_compiler(config)
        return self._text("log_text", config)

    def store_has(self, config: Config) -> bool:
        """Whether the store holds the configuration's entry, whole and valid."""
        lib = _native.native()
        name, held = ctypes.c_char_p(), ctypes.c_uint32()
        lib.check(lib.store_has(self.handle(), ctypes.byref(config._struct()), ctypes.byref(name), ctypes.byref(held)))
        return held.value == 1

    def store_check(self) -> None:
        """Raises where the store does not take entries now."""
        lib = _native.native()
        lib.check(lib.store_check(self.handle()))

    def arch_native(self) -> str:
        """The architecture of the current context's device, else of device 0."""
        lib = _native.native()
        number = ctypes.c_uint32()
        lib.check(lib.arch_native(self.handle(), ctypes.byref(number)))
        return arch_name(number.value)

    def stats(self) -> Stats:
        """A snapshot of the counters."""
        lib = _native.native()
        stats = _native.Stats(size=ctypes.sizeof(_native.Stats))
        lib.check(lib.stats_get(self.handle(), ctypes.byref(stats)))
        return Stats(**{field.name: getattr(stats, field.name) for field in dataclasses.fields(Stats)})

    def _prepare_compiler(self, config: Config) -> None:
        """Where a compile is due: PyTorch's NVRTC, unless the process has one. See _find.load_nvrtc."""
        if self._has_nvrtc or (config.arch != "native" and self.store_has(config)):
            return
        if config.arch == "native" and self.store_has(config.replace(arch=self.arch_native())):
            return
        path = _find.load_nvrtc()
        self._has_nvrtc = True
        if path is not None:
            logger.debug("nvrtc: %s", path)

    def _text(self, name: str, config: Config) -> str:
        lib = _native.native()
        text = ctypes.c_char_p()
        lib.check(getattr(lib, name)(self.handle(), ctypes.byref(config._struct()), ctypes.byref(text)))
        return (text.value or b"").decode("utf-8", "replace")


def _info_of(info: _native.KernelInfo) -> KernelInfo:
    values: dict[str, Any] = {}
    for field in dataclasses.fields(KernelInfo):
        value = getattr(info, field.name)
        if field.name == "arch":
            value = arch_name(value)
        elif field.name == "origin":
            value = _ORIGINS[value] if value < len(_ORIGINS) else str(value)
        elif field.name == "store_status":
            value = Status(value)
        elif isinstance(value, bytes) or value is None:
            value = (value or b"").decode("utf-8", "replace")
        values[field.name] = value
    return KernelInfo(**values)


_default: Library | None = None
_default_lock = threading.Lock()


def check_objects(library: object, kernel: object) -> None:
    """Raises where what is given for them is something else."""
    if library is not None and not isinstance(library, Library):
        raise ArgumentError("library", "a swa_jit.Library", type(library).__qualname__)
    if kernel is not None and not isinstance(kernel, Kernel):
        raise ArgumentError("kernel", "a swa_jit.Kernel", type(kernel).__qualname__)


def default_library() -> Library:
    """The library object of calls that name none: opened at the first of them, by the environment."""
    global _default
    library = _default
    if library is None or not library.is_open:
        with _default_lock:
            if _default is None or not _default.is_open:
                _default = Library()
            library = _default
    return library


def set_default_library(library: Library | None) -> Library | None:
    """Makes another library object that of calls that name none; None: one is opened when it is needed. Returns the
    one before, which the caller may close."""
    global _default
    with _default_lock:
        before, _default = _default, library
    return before


def stats(library: Library | None = None) -> Stats:
    """The counters of a library object; None: of the one that calls use."""
    return (library or default_library()).stats()


def warm(*configs: Config, library: Library | None = None) -> list[KernelInfo]:
    """Makes sure that the store has these configurations, and tells of each: :meth:`Library.warm`."""
    return (library or default_library()).warm(configs)
