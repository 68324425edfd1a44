"""Keeps other packages from importing what they use where it is installed, and what we have no use for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(module: str) -> Iterator[None]:
    """Let imports of this module fail in the block, unless it has been imported already."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # makes its import fail
    try:
        yield
    finally:
        del sys.modules[module]
