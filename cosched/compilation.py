"""Where compiled kernels are kept between runs, and what a first run says while it compiles them.

Numba looks at the time stamp of a kernel's own file only, so a change in one file could leave kernels of other files
that call it as they were. Here the cache has a folder of its own for each state of all kernel sources.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numba

MESSAGE = "compiling the scheduling kernels, once (about half a minute) ..."


def use_kernel_cache() -> None:
    """Point numba to the cache of these sources; to be called before any kernel is imported.

    A cache folder that cannot be written is replaced by a private one that lasts as long as the process needs it.
    """
    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = str(_cache_folder())


def prepare_kernels(run_all: Callable[[], None], say: Callable[[str], None]) -> float:
    """Compile or load every kernel by `run_all`, a tiny simulation; seconds that it took. `say` is told of compiling."""
    if not any(Path(numba.config.CACHE_DIR).rglob("*.nbi")):
        say(MESSAGE)
    began = time.perf_counter()
    run_all()
    return time.perf_counter() - began


def _cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "cosched" / f"kernels-{_source_digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="cosched-kernels-"))


def _source_digest() -> str:
    digest = hashlib.sha256()
    for source in sorted((Path(__file__).parent / "core").rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
