"""How kernels are compiled: one place for the options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` at its first call; cached on disk, IEEE arithmetic (1/0 is infinite, not an exception)."""
    return cast(F, njit(cache=True, error_model="numpy", _nrt=False, forceinline=True)(function))
