"""The sizes that jobs had, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Every start and change of size in order: the job's row, the instant, and its processors from then on.

    `gave_to`: the row of the job for which others were taken from it, or NONE.
    """

    row: NDArray[np.int64]
    at: NDArray[np.int64]
    procs: NDArray[np.int64]
    gave_to: NDArray[np.int64]
