"""The cache of compiled kernels, and the message of a first run, which compiles them.

Numba checks only the time stamp of the file that a kernel is in. Kernels of other files that call it could stay
stale. So the cache has one folder for each state of all kernel sources. A mark in it says that a set of kernels is
complete; numba keeps those of each installation, and of each kind of processor, apart, and so do the marks. One process
compiles a set; others that need it meanwhile wait until it is there.

Every command of the simulator imports this module: it does without pathlib and hashlib, which take long to import.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import source_hash

from cosched.file_locks import lock
from cosched.needless import without

MESSAGE = "compiling the scheduling kernels, once for this version (half a minute on an idle host) ..."
WAITING = "waiting for another process, which compiles the scheduling kernels ..."
_CACHE = "NUMBA_CACHE_DIR"
_OURS = "cosched-kernels-"
_ALGEBRA = "scipy.linalg"  # numba imports it, kernels do not use it, and it is a fifth of a service's start

_prepared: set[Callable[[], None]] = set()


def use_kernel_cache() -> None:
    """Point numba to the cache for these sources; call this before any kernel is imported.

    A cache folder set by the user stays, unless it is one of ours, as when another version started this process.
    If the folder cannot be written, a private temporary one takes its place.
    """
    # Large pages do not suit tables with scattered accesses: creating the pages can double a simulation's time.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")  # numpy reads this when it is imported
    if _OURS not in os.environ.get(_CACHE, _OURS):
        return
    os.environ[_CACHE] = folder = _cache_folder()
    if (numba := sys.modules.get("numba")) is not None:
        numba.config.CACHE_DIR = folder


def prepare_kernels(run_all: Callable[[], None], say: Callable[[str], None]) -> float:
    """Compile or load every kernel by calling `run_all`, a tiny simulation; return the seconds that took.

    `say` gets a message if kernels must be compiled. A second call with the same `run_all` does nothing.
    """
    if run_all in _prepared:
        return 0.0
    began = time.perf_counter()
    with without(_ALGEBRA):
        if kernels_are_compiled(run_all):
            run_all()
        else:
            say(MESSAGE)
            with _alone(say):
                run_all()
                _mark(run_all)
    _prepared.add(run_all)
    return time.perf_counter() - began


@contextmanager
def _alone(say: Callable[[str], None]) -> Iterator[None]:
    """Let no other process compile into this cache meanwhile."""
    descriptor = os.open(os.path.join(os.environ[_CACHE], ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with suppress(OSError):  # of a file system without locks
            if not lock(descriptor, patience=0):
                say(WAITING)
                lock(descriptor, patience=math.inf)
        yield
    finally:
        os.close(descriptor)


def kernels_are_compiled(run_all: Callable[[], None]) -> bool:
    """Whether the cache has all kernels that `run_all` calls, for this installation and this processor."""
    return os.path.exists(_marked(run_all))


def _mark(run_all: Callable[[], None]) -> None:
    with open(_marked(run_all), "w"):
        pass


def _marked(run_all: Callable[[], None]) -> str:
    """Return the path of the mark of a set of kernels; what numba tells its own files by is in its name."""
    import numba
    from llvmlite import binding

    sources = [(source, os.stat(source).st_mtime_ns) for source in _sources()]
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    state = repr((_source_digest(), sources, sys.implementation.cache_tag, numba.__version__, processor))
    name = f"{run_all.__module__}.{run_all.__qualname__}-{source_hash(state.encode()).hex()}"
    return os.path.join(os.environ[_CACHE], f"{name}.compiled")


def _cache_folder() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(base, "cosched", f"{_OURS}{_source_digest()}")
    try:
        os.makedirs(folder, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    import tempfile  # slow to import, and rarely needed

    return tempfile.mkdtemp(prefix=_OURS)


def _source_digest() -> str:
    return source_hash(b"".join(map(_read, _sources()))).hex()


def _sources() -> list[str]:
    """Return the files of the kernels, and of the one other module whose constants are compiled into them."""
    core = os.path.join(os.path.dirname(__file__), "core")
    scheduling = os.path.join(core, "scheduling")
    rooms = (os.path.join(scheduling, room, "kernels") for room in sorted(os.listdir(scheduling)))
    folders = [os.path.join(scheduling, "primitives"), *filter(os.path.isdir, rooms)]
    modules = (os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder)))
    return [os.path.join(core, "job.py"), *(module for module in modules if module.endswith(".py"))]


def _read(source: str) -> bytes:
    with open(source, "rb") as file:
        return file.read()
