"""How kernels are compiled: one place for the options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` at its first call; cached on disk, IEEE arithmetic (1/0 is infinite, not an exception)."""
    return cast(F, njit(cache=True, error_model="numpy", _nrt=False, forceinline=True)(function))


def direct(kernel: F) -> F:
    """The machine code of a kernel that was called before; else the kernel itself.

    At every call of a kernel numba looks for code for the types of its arguments. With Tables that takes 3
    microseconds, twenty times as long as the call. Only for kernels whose arguments always have the same types.
    """
    compiled = list(getattr(kernel, "overloads", {}).values())
    return compiled[0].entry_point if len(compiled) == 1 else kernel
