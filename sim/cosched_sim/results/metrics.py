"""Metrics of a schedule (scheduling.md, Metrics; Tang et al., V-C), computed from arrays with one row a job."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched_sim.workload.jobs import UNKNOWN, Ints

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_ROWS_AT_ONCE = 65_536

STATISTICS = ("mean", "median", "p95", "p99", "max")
BOUND_S = 10  # bounded slowdown treats shorter jobs as if they ran this long


def slowdown(wait_s: Ints, run_s: Ints) -> Floats:
    """Return response time / run time."""
    return (wait_s + run_s) / np.maximum(run_s, 1)


def bounded_slowdown(wait_s: Ints, run_s: Ints) -> Floats:
    """Return the slowdown with run times of at least `BOUND_S`; it is never below 1."""
    return np.maximum(1.0, (wait_s + run_s) / np.maximum(run_s, BOUND_S))


def spread(values: Ints | Floats) -> dict[str, float | None]:
    """Return mean, median, 95th and 99th percentile (linear interpolation) and maximum; None if there are no values."""
    if values.size == 0:
        return dict.fromkeys(STATISTICS)
    found = (values.mean(), *np.percentile(values, (50, 95, 99)), values.max())
    return dict(zip(STATISTICS, map(float, found), strict=True))


def group(waits: Ints, completed: Bools, run: Ints, sync: Ints) -> dict[str, Any]:
    """Return the metrics of some jobs that started; `sync` holds the sync times of the paired ones among them.

    Only jobs that `completed` have slowdowns: the run time of the others says when something ended them.
    """
    return {
        "wait_s": spread(waits),
        "slowdown": spread(slowdown(waits[completed], run[completed])),
        "bounded_slowdown": spread(bounded_slowdown(waits[completed], run[completed])),
        "sync_s": spread(sync),
    }


def queue_over_time(submit: Ints, left: Ints) -> tuple[Ints, Ints]:
    """Return the instants at which the number of waiting jobs changes, and that number from then on.

    `submit` is ascending; `left` is when each job started or was cancelled, `UNKNOWN` for a job that still waits.
    """
    gone = np.sort(left[left != UNKNOWN])
    times = np.unique(np.concatenate((submit, gone)))
    return times, _waiting_at(times, submit, gone)


def queue_length(submit: Ints, left: Ints, last: int) -> dict[str, float]:
    """Return mean (over the time from the first submission to `last`) and maximum of the number of waiting jobs."""
    gone = np.sort(left[left != UNKNOWN])
    waited = int(gone.sum()) + last * (len(left) - len(gone)) - int(submit.sum())
    span = last - int(submit[0])
    # In parts, to save memory with a million jobs. The number grows only at submissions.
    parts = (submit[i : i + _ROWS_AT_ONCE] for i in range(0, len(submit), _ROWS_AT_ONCE))
    longest = max(int(_waiting_at(part, submit, gone).max()) for part in parts)
    return {"mean": waited / span if span else 0.0, "max": longest}


def _waiting_at(times: Ints, submit: Ints, gone: Ints) -> Ints:
    waiting: Ints = np.searchsorted(submit, times, "right") - np.searchsorted(gone, times, "right")
    return waiting
