"""The cache of compiled kernels, and the message of a first run, which compiles them.

Numba checks only the time stamp of the file that a kernel is in. Kernels of other files that call it could stay
stale. So the cache has one folder for each state of all kernel sources.

Every command of the simulator imports this module: it does without pathlib and hashlib, which take long to import.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import source_hash

MESSAGE = "compiling the scheduling kernels, once (about half a minute) ..."
_CACHE = "NUMBA_CACHE_DIR"
_OURS = "cosched-kernels-"
_ALGEBRA = "scipy.linalg"

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


def prepare_kernels(run_all: Callable[[], None], say: Callable[[str], None], module: str = "") -> float:
    """Compile or load every kernel by calling `run_all`, a tiny simulation; return the seconds that took.

    `say` gets a message if kernels (those of the `module`) must be compiled. A second call with the same `run_all` does
    nothing.
    """
    if run_all in _prepared:
        return 0.0
    if not kernels_are_compiled(module):
        say(MESSAGE)
    began = time.perf_counter()
    with _without_algebra():
        run_all()
    _prepared.add(run_all)
    return time.perf_counter() - began


@contextmanager
def _without_algebra() -> Iterator[None]:
    """Keep numba from loading SciPy's linear algebra. Kernels do not use it, and it is a fifth of a service's start."""
    if _ALGEBRA in sys.modules:
        yield
        return
    sys.modules[_ALGEBRA] = None  # type: ignore[assignment]  # makes its import fail
    try:
        yield
    finally:
        del sys.modules[_ALGEBRA]


def kernels_are_compiled(module: str = "") -> bool:
    """Whether the cache contains any kernels (of this module)."""
    names = (name for _, _, files in os.walk(os.environ[_CACHE]) for name in files)
    return any(name.endswith(".nbi") and module in ("", name.partition(".")[0]) for name in names)


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
    """Hash the kernels, and the one other module whose constants are compiled into them."""
    core = os.path.join(os.path.dirname(__file__), "core")
    scheduling = os.path.join(core, "scheduling")
    rooms = "primitives", os.path.join("batch", "kernels"), os.path.join("fluid", "kernels")
    folders = [os.path.join(scheduling, room) for room in rooms]
    modules = (os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder)))
    sources = [os.path.join(core, "job.py"), *(module for module in modules if module.endswith(".py"))]
    return source_hash(b"".join(map(_read, sources))).hex()


def _read(source: str) -> bytes:
    with open(source, "rb") as file:
        return file.read()
