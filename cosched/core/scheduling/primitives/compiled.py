"""How kernels are compiled: one place for the options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import config, njit, types

F = TypeVar("F", bound=Callable[..., object])

# Of an index that is not negative: numba tests others each time, since a negative one counts from the end.
unsigned = np.uint64

# Without a folder for its cache numba would write beside the sources (see installation.compilation, which names one).
CACHED = bool(config.CACHE_DIR)


def kernel(function: F) -> F:
    """Compile `function` at its first call, with IEEE arithmetic (1/0 is infinite, not an exception).

    The code is cached on disk, if there is a folder for it, and becomes part of every kernel that calls it.
    """
    return cast(F, njit(cache=CACHED, error_model="numpy", _nrt=False, forceinline=True)(function))


def part(function: F) -> F:
    """Make `function` part of every kernel that calls it, before that is compiled: it is not compiled by itself."""
    return cast(F, njit(inline="always", error_model="numpy", _nrt=False)(function))


def direct(kernel: F) -> F:
    """The machine code of a kernel that was called before; else the kernel itself.

    At every call of a kernel numba looks for code for the types of its arguments. With Tables that takes 3
    microseconds, twenty times as long as the call. Only for kernels whose arguments always have the same types. Where
    another kernel calls it with a constant, there is code for that alone, too, in the process that has compiled it.
    """
    overloads = getattr(kernel, "overloads", {}).items()
    compiled = [code for given, code in overloads if not any(isinstance(each, types.Literal) for each in given)]
    return compiled[0].entry_point if len(compiled) == 1 else kernel


def shared_kernel(function: F) -> F:
    """Compile `function` once for all kernels that call it: where its parts would be repeated too often."""
    return cast(F, njit(cache=CACHED, error_model="numpy", _nrt=False)(function))
