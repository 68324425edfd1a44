"""Metrics of a schedule (scheduling.md, Metrics; Tang et al., V-C), computed from arrays with one row a job."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.workload import UNKNOWN, Ints

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

BOUND_S = 10  # bounded slowdown takes shorter jobs for as long as this


def wait(submit: Ints, start: Ints) -> Ints:
    """Seconds from submission to start."""
    return start - submit


def slowdown(wait_s: Ints, run_s: Ints) -> Floats:
    """Response time over run time."""
    return (wait_s + run_s) / np.maximum(run_s, 1)


def bounded_slowdown(wait_s: Ints, run_s: Ints) -> Floats:
    """Slowdown with run times of at least `BOUND_S`, and never below 1."""
    return np.maximum(1.0, (wait_s + run_s) / np.maximum(run_s, BOUND_S))


def spread(values: Ints | Floats) -> dict[str, float | None]:
    """Mean, median, 95th and 99th percentile (linear interpolation) and maximum; None of no values."""
    if values.size == 0:
        return dict.fromkeys(("mean", "median", "p95", "p99", "max"))
    median, p95, p99 = np.percentile(values, (50, 95, 99))
    return {
        "mean": float(values.mean()),
        "median": float(median),
        "p95": float(p95),
        "p99": float(p99),
        "max": float(values.max()),
    }


def group(submit: Ints, start: Ints, run: Ints, sync: Ints) -> dict[str, Any]:
    """The metrics of some jobs that started; `sync` of the paired ones among them."""
    waits = wait(submit, start)
    return {
        "wait_s": spread(waits),
        "slowdown": spread(slowdown(waits, run)),
        "bounded_slowdown": spread(bounded_slowdown(waits, run)),
        "sync_s": spread(sync),
    }


def queue_length(submit: Ints, left: Ints, last: int) -> tuple[Ints, Ints, float]:
    """Jobs that wait, over time: instants at which their number changes, the number from then on, and its mean.

    `left` is when each job started (or was cancelled), `UNKNOWN` for one that waits still; the mean is over the time
    from the first submission to `last`.
    """
    gone = left[left != UNKNOWN]
    times, index = np.unique(np.concatenate((submit, gone)), return_inverse=True)
    change = np.zeros(len(times), np.int64)
    np.add.at(change, index, np.repeat((1, -1), (len(submit), len(gone))))
    waiting = np.cumsum(change)
    spans = np.diff(np.append(times, max(last, int(times[-1]))))
    total = int(spans.sum())
    return times, waiting, float(waiting @ spans) / total if total else 0.0
