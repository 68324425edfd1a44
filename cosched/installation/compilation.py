"""The cache of compiled kernels, and the message of a first run, which compiles them.

Numba checks only the time stamp of the file that a kernel is in. Kernels of other files that call it could stay
stale. So the cache has one folder for each state of all kernel sources. A mark in it says that a set of kernels is
complete; numba keeps those of each installation, and of each kind of processor, apart, and so do the marks. One process
compiles a set; others that need it meanwhile wait until it is there, and say for whom. Sets share functions: so one
process at a time changes numba's index of a function, which it reads, changes, and writes.

Every command of the simulator imports this module: it does without pathlib and hashlib, which take long to import.
"""

from __future__ import annotations

import atexit
import math
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec, source_hash
from typing import Any

from cosched.host.file_locks import lock
from cosched.installation.entry_points import points_of
from cosched.installation.needless import without

_CACHE = "NUMBA_CACHE_DIR"
_OURS = "cosched-kernels-"
_SCHEDULERS = "cosched.schedulers"
_ALGEBRA = "scipy.linalg"  # numba imports it, kernels do not use it, and it is a fifth of a service's start
_C_INTERFACE = "cffi"  # likewise: it parses C with tables of its own, 50 ms

_prepared: set[Callable[[], None]] = set()


def use_kernel_cache() -> None:
    """Point numba to the cache for these sources; call this before any kernel is imported.

    A cache folder set by the user stays, unless it is one of ours, as when another version started this process.
    If the user's folder for caches cannot be written, one in the folder for temporary files takes its place.
    """
    # Large pages do not suit tables with scattered accesses: creating the pages can double a simulation's time.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")  # numpy reads this when it is imported
    if _OURS not in os.environ.get(_CACHE, _OURS):
        return
    os.environ[_CACHE] = folder = _cache_folder()
    if (numba := sys.modules.get("numba")) is not None:
        numba.config.CACHE_DIR = folder


def prepare_kernels(run_all: Callable[[], None], say: Callable[[str], None], name: str) -> float:
    """Compile or load the set of kernels `name` by calling `run_all`, which uses each; return the seconds that took.

    `say` is told if they must be compiled, or if another process does that. A second call with the same `run_all` does
    nothing.
    """
    if run_all in _prepared:
        return 0.0
    began = time.perf_counter()
    with without(_ALGEBRA), without(_C_INTERFACE):
        if kernels_are_compiled(run_all):
            with _only_loading():
                run_all()
        else:
            _compile(run_all, say, name)
    _prepared.add(run_all)
    return time.perf_counter() - began


def compiling(name: str) -> str:
    """Say that a set of kernels is compiled now, for how long it is kept, and where if not in the usual place."""
    folder = os.environ[_CACHE]
    kept = "once for this set, version and host"
    if os.path.basename(folder).startswith(f"{_OURS}{_source_digest()}-"):
        kept = "for this run only, as no folder for a cache can be written; XDG_CACHE_HOME names another"
    elif os.path.basename(os.path.dirname(folder)) == _temporary():
        kept += f", kept in {folder}, as {_user_caches()} cannot be written"
    return f"compiling kernels ({name}), {kept} (half a minute on an idle host) ..."


def waiting(name: str, whom: str) -> str:
    """Say that this process waits for another, which compiles the same set of kernels."""
    return f"waiting for {whom or 'another process'}, which compiles the same kernels ({name}) ..."


def announced(run_all: Callable[[], None], name: str) -> str:
    """Return what `prepare_kernels` would say now, in place of processes that are silent; empty: all are compiled."""
    if kernels_are_compiled(run_all):
        return ""
    descriptor = _opened(f"{_set(run_all)}.lock")
    try:
        with suppress(OSError):
            if not lock(descriptor, patience=0):
                return waiting(name, _named_in(descriptor))
        return compiling(name)
    finally:
        os.close(descriptor)


def _compile(run_all: Callable[[], None], say: Callable[[str], None], name: str) -> None:
    with _locked(f"{_set(run_all)}.lock", lambda whom: say(waiting(name, whom))):
        if not kernels_are_compiled(run_all):
            say(compiling(name))
        with _saving_alone():
            run_all()
        with open(_marked(run_all), "w"):
            pass


@contextmanager
def _only_loading() -> Iterator[None]:
    """Have numba load kernels without what it needs to compile others: it loads that, too, before it compiles one."""
    from numba.core.caching import Cache

    load = Cache.load_overload

    def only_load(cache: Any, signature: Any, context: Any) -> Any:
        context.refresh = lambda: None  # else 70 modules, which declare the types of Python and numpy
        try:
            return load(cache, signature, context)
        finally:
            del context.refresh

    Cache.load_overload = only_load
    try:
        yield
    finally:
        Cache.load_overload = load


@contextmanager
def _locked(name: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Lock a file of the cache, which names this process; `tell` gets the name of another that has the lock before."""
    descriptor = _opened(name)
    try:
        with suppress(OSError):  # of a file system without locks
            if not lock(descriptor, patience=0):
                tell(_named_in(descriptor))
                lock(descriptor, patience=math.inf)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _opened(lock_file: str) -> int:
    return os.open(os.path.join(os.environ[_CACHE], lock_file), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _named_in(descriptor: int) -> str:
    return os.pread(descriptor, 80, 0).decode(errors="replace").strip()


@contextmanager
def _saving_alone() -> Iterator[None]:
    """Have numba keep what it compiles while no other process does so."""
    from numba.core.caching import IndexDataCacheFile

    save = IndexDataCacheFile.save

    def save_alone(file: Any, key: Any, data: Any) -> None:
        with _locked("index.lock", lambda _: None):
            save(file, key, data)

    IndexDataCacheFile.save = save_alone
    try:
        yield
    finally:
        IndexDataCacheFile.save = save


def kernels_are_compiled(run_all: Callable[[], None]) -> bool:
    """Return whether the cache has all kernels that `run_all` calls, for this installation and this processor."""
    return os.path.exists(_marked(run_all))


def _marked(run_all: Callable[[], None]) -> str:
    """Return the path of the mark of a set of kernels; what numba tells its own files by is in its name."""
    import numba
    from llvmlite import binding

    sources = [(source, os.stat(source).st_mtime_ns) for source in _sources()]
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    state = repr((_source_digest(), sources, sys.implementation.cache_tag, numba.__version__, processor))
    return os.path.join(os.environ[_CACHE], f"{_set(run_all)}-{source_hash(state.encode()).hex()}.compiled")


def _set(run_all: Callable[[], None]) -> str:
    return f"{run_all.__module__}.{run_all.__qualname__}"


def _cache_folder() -> str:
    """Return the user's folder for the cache, or one of this user in that for temporary files.

    If the latter is another user's, who could write code for us, it is a folder of this process, which removes it.
    """
    name = f"{_OURS}{_source_digest()}"
    folder = os.path.join(_user_caches(), name)
    if _can_be_written(folder):
        return folder
    import tempfile  # slow to import, and rarely needed

    own = os.path.join(tempfile.gettempdir(), _temporary())
    folder = os.path.join(own, name)
    if _is_private(own) and _can_be_written(folder):
        return folder
    folder = os.environ.get(_CACHE, "")  # of a process that has started this one
    if not os.path.basename(folder).startswith(f"{name}-") or not os.access(folder, os.W_OK):
        folder = tempfile.mkdtemp(prefix=f"{name}-")
        atexit.register(_remove, folder, os.getpid())
    return folder


def _user_caches() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cosched")


def _temporary() -> str:
    return f"cosched-of-{os.geteuid()}"


def _can_be_written(folder: str) -> bool:
    """Return whether the folder can be used; it is made if it is not there."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _is_private(folder: str) -> bool:
    """Return whether only this user can change what is in the folder; it is made if it is not there."""
    try:
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        is_now = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(is_now.st_mode) and is_now.st_uid == os.geteuid() and not is_now.st_mode & 0o077


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not one that was forked
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _source_digest() -> str:
    return source_hash(b"".join(map(_read, _sources()))).hex()


def _sources() -> list[str]:
    """Return the files of all kernels, and of the one other module whose constants are compiled into them."""
    core = os.path.join(os.path.dirname(os.path.dirname(__file__)), "core")
    ours = (os.path.join(core, "scheduling", folder) for folder in ("primitives", os.path.join("batch", "kernels")))
    folders = dict.fromkeys([*ours, *_of_other_packages()])
    modules = (os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder)))
    return [os.path.join(core, "job.py"), *(module for module in modules if module.endswith(".py"))]


def _of_other_packages() -> Iterator[str]:
    """Yield the folders `kernels` beside the modules of schedulers' entry points; nothing is imported to find them."""
    for point in points_of(_SCHEDULERS):
        package, *folders = point.module.split(".")[:-1] or [""]
        try:
            known = find_spec(package)
        except ValueError:  # it has no name, or is imported without a spec
            continue
        for place in (known and known.submodule_search_locations) or ():
            folder = os.path.join(place, *folders, "kernels")
            if os.path.isdir(folder):
                yield folder


def _read(source: str) -> bytes:
    with open(source, "rb") as file:
        return file.read()
