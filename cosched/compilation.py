"""The cache of compiled kernels, and the message of a first run, which compiles them.

Numba checks only the time stamp of the file that a kernel is in. Kernels of other files that call it could stay
stale. So the cache has one folder for each state of all kernel sources.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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
    os.environ[_CACHE] = folder = str(_cache_folder())
    if (numba := sys.modules.get("numba")) is not None:
        numba.config.CACHE_DIR = folder


def prepare_kernels(run_all: Callable[[], None], say: Callable[[str], None]) -> float:
    """Compile or load every kernel by calling `run_all`, a tiny simulation; return the seconds that took.

    `say` gets a message if kernels must be compiled. A second call with the same `run_all` does nothing.
    """
    if run_all in _prepared:
        return 0.0
    if not kernels_are_compiled():
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


def kernels_are_compiled() -> bool:
    """Whether the cache contains any kernels."""
    return any(Path(os.environ[_CACHE]).rglob("*.nbi"))


def _cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "cosched" / f"{_OURS}{_source_digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    import tempfile  # slow to import, and rarely needed

    return Path(tempfile.mkdtemp(prefix=_OURS))


def _source_digest() -> str:
    """Hash the kernels, and the one other module whose constants are compiled into them."""
    digest = hashlib.sha256()
    core = Path(__file__).parent / "core"
    folders = (core / "scheduling" / "primitives", core / "scheduling" / "batch" / "kernels")
    for source in [core / "job.py", *(source for folder in folders for source in sorted(folder.glob("*.py")))]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
