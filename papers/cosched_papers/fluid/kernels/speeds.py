"""How fast jobs are that are not linear, in integers: as shares of UNIT, rounded up (fluid.md, The work of a job)."""

from __future__ import annotations

from typing import Any

from cosched.core.scheduling.primitives.compiled import kernel

BITS = 38
# The work that a job does in a second, a parabolic one on its ideal number of processors, one with a table where it is
# fastest.
UNIT = 1 << BITS
BITS_OF_SQUARES = 19  # at a time: sums of two squares up to 2^40 each have room for so many more


def share_of_unit(top: Any, bottom: Any, bits: int) -> Any:
    """Return UNIT x top / bottom, rounded up, of numbers or of arrays; `top` is at most `bottom`.

    It is divided by hand, so many bits at a time, since the product may not fit in 64 bits: `bottom` x 2^`bits` must.
    """
    whole, rest = 0 * bottom, top
    for _ in range(BITS // bits):
        rest = rest << bits
        whole = (whole << bits) + rest // bottom
        rest = rest % bottom
    return whole + (rest > 0)


_share_of_unit = kernel(share_of_unit)


@kernel
def parabolic(ideal: int, procs: int) -> int:
    """Return the speed on so many processors: T(P) = RT (ideal^2 + P^2) / (2 ideal P)."""
    return _share_of_unit(2 * ideal * procs, ideal * ideal + procs * procs, BITS_OF_SQUARES)
