"""Uses all kernels of a heterogeneous scheduler once, so that they are loaded, or compiled, before they are needed."""

from __future__ import annotations

import numpy as np

from cosched_papers.heterogeneous.calls import Call
from cosched_papers.heterogeneous.greedy import max_min, pjs


def use_kernels() -> None:
    """Place two jobs on a machine, or on a cluster of it."""
    call = Call([0, 0], np.array([[2]]), np.array([[1]]), [np.array([0])], np.array([0]))
    pjs(call)
    max_min(call)
