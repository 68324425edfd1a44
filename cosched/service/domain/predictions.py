"""What running jobs predict of each of their sizes: as they tell it, and as it is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from cosched.core.allocation import Malleable, Table

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


def as_kept(malleable: Malleable, predictions: Sequence[Prediction]) -> str:
    """Return how a job's size may change, and what it predicts, as a record keeps it."""
    return json.dumps(asdict(replace(malleable, table=None)) | {"predictions": predictions})


@lru_cache(maxsize=512)
def as_told(kept: str) -> tuple[Malleable, tuple[Prediction, ...]]:
    """Return how a job's size may change, and what it predicts (nothing: empty), from what a record keeps."""
    malleable = json.loads(kept)
    predictions = tuple(Prediction(*told) for told in malleable.pop("predictions", ()))
    return Malleable(**malleable | {"table": counted(predictions) if predictions else None}), predictions
