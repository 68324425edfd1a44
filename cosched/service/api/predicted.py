"""Checks of what jobs predict (adaptive.proto)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cosched.service.domain.predictions import MOST_SIZES, Prediction
from cosched.service.wire.fields import FieldError
from cosched.v1 import job_pb2

LONGEST = 1e9  # seconds that an iteration, or an adaptation, may take


def checked_predictions(told: Sequence[job_pb2.Prediction], least: int, ideal: int) -> list[Prediction]:
    """Return what a job predicts of its sizes; FieldError."""
    if ideal - least >= MOST_SIZES:
        raise FieldError("predictions", f"are kept of at most {MOST_SIZES} sizes; the job has {ideal - least + 1}")
    if len(told) != ideal - least + 1 or [each.nodes for each in told] != [*range(least, ideal + 1)]:
        raise FieldError("predictions", f"must be one for each number of nodes from {least} to {ideal}, in this order")
    return [_checked(f"predictions[{place}]", each) for place, each in enumerate(told)]


def _checked(field: str, told: job_pb2.Prediction) -> Prediction:
    checked = Prediction(*(getattr(told, name) for name in Prediction._fields))
    for name, seconds in checked._asdict().items():
        if not (math.isfinite(seconds) and 0 <= seconds <= LONGEST):
            raise FieldError(f"{field}.{name}", f"is not a time from 0 to {LONGEST:.0f} s")
    if checked.exec_time == 0:
        raise FieldError(f"{field}.exec_time", "is 0: an iteration takes some time")
    return checked
