"""Between which sizes a job may change, and what it predicts of each, as its record says."""

from __future__ import annotations

from cosched.core.allocation import Malleable
from cosched.service.domain.predictions import Prediction, as_told
from cosched.service.store import JobRecord


def malleable_of(record: JobRecord) -> Malleable | None:
    """Return how the job's size may change; None: it does not."""
    return None if record.malleable is None else as_told(record.malleable)[0]


def predictions_of(record: JobRecord) -> tuple[Prediction, ...]:
    """Return what the job predicts of its sizes, from its least to its ideal; empty: nothing."""
    return () if record.malleable is None else as_told(record.malleable)[1]


def least_of(record: JobRecord) -> int:
    """Return the fewest nodes on which the job runs."""
    malleable = malleable_of(record)
    return record.nodes if malleable is None else malleable.least
