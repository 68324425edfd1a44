"""What running jobs predict of each of their sizes: as they tell it, and as it is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from cosched.core.allocation import Table

MOST_SIZES = 1024  # of a job that predicts
NANOSECONDS = 10**9


class Prediction(NamedTuple):
    """How long an iteration takes, and for how long an adaptation stops the job, in seconds, on one size."""

    exec_time: float
    exec_time_comp: float
    exec_time_comm: float
    cost: float


def counted(predictions: Sequence[Prediction]) -> Table:
    """Return what a scheduler counts with: whole nanoseconds, at least 1, and whole seconds, rounded up."""
    times = tuple(max(1, round(told.exec_time * NANOSECONDS)) for told in predictions)
    return Table(times, tuple(ceil(told.cost) for told in predictions))


def as_kept(predictions: Sequence[Prediction]) -> str:
    """Return what a job predicts as a record keeps it."""
    return json.dumps(predictions)


def as_told(kept: str) -> tuple[Prediction, ...]:
    """Return what a job predicts, from what a record keeps."""
    return tuple(Prediction(*told) for told in json.loads(kept))
