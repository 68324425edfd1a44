"""A folder whose files cannot be opened for now: who tries hangs in the kernel, as when a file server does not answer.

See fanotify(7): an opening waits until it is permitted, which nobody does here.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_CLASS_CONTENT, _CLOEXEC = 0x4, 0x1
_MARK_ADD, _OPEN_PERM, _EVENT_ON_CHILD = 0x1, 0x10000, 0x08000000
_AT_FDCWD = -100


@contextmanager
def hanging(folder: Path) -> Iterator[None]:
    """Until the end of the block, which may list the folder; the test is skipped where that is not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    group = libc.fanotify_init(_CLASS_CONTENT | _CLOEXEC, os.O_RDONLY)
    if group < 0:
        pytest.skip(f"openings cannot be delayed here: {os.strerror(ctypes.get_errno())}")
    try:
        what = ctypes.c_uint64(_OPEN_PERM | _EVENT_ON_CHILD)
        if libc.fanotify_mark(group, _MARK_ADD, what, _AT_FDCWD, os.fsencode(folder)):
            pytest.skip(f"openings cannot be delayed here: {os.strerror(ctypes.get_errno())}")
        yield
    finally:
        os.close(group)  # which permits them
