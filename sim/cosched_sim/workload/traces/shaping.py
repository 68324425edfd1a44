"""Cuts a time window out of a trace, moves it, and stretches or compresses its arrivals. Times stay whole seconds."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from cosched_sim.workload.columns import taken
from cosched_sim.workload.jobs import Ints, TraceLog, Workload, node_seconds
from cosched_sim.workload.traces.values import LIMIT

Jobs = TypeVar("Jobs", bound=TraceLog | Workload)
Exact = Fraction | Decimal | str | int | float

_ROWS_AT_ONCE = 65_536


def cut(jobs: Jobs, start: int | None, end: int | None) -> Jobs:
    """Return the jobs with start <= submit < end (None: no bound); their times do not change.

    A workload's counts of jobs left out are still those of the whole trace. ValueError if no job is in the window.
    """
    low = -math.inf if start is None else start
    high = math.inf if end is None else end
    if not low < high:
        raise ValueError(f"a time window ends after its start, but {end} is not after {start}")
    inside = (jobs.submit >= low) & (jobs.submit < high)
    if not inside.any():
        submits = f"the submit times are {jobs.submit.min()} to {jobs.submit.max()}"
        raise ValueError(f"no job is submitted in the time window; {submits}")
    arrays = ((of.name, getattr(jobs, of.name)) for of in fields(jobs))
    columns: dict[str, Any] = {name: array[inside] for name, array in arrays if isinstance(array, np.ndarray)}
    return replace(jobs, columns=taken(jobs.columns, inside), **columns)


def shift(jobs: Jobs, seconds: int) -> Jobs:
    """Submit all jobs `seconds` later, or earlier; ValueError if a time becomes negative or larger than one can be."""
    first, last = int(jobs.submit.min()) + seconds, int(jobs.submit.max()) + seconds
    if first < 0:
        raise ValueError(f"the first job would be submitted {-first} s before time 0")
    if last > LIMIT:
        raise ValueError("submit times become too large")
    return replace(jobs, submit=jobs.submit + seconds)


def scale(jobs: Jobs, factor: Exact) -> Jobs:
    """Multiply the times between arrivals: submit becomes first + floor((submit - first) * factor), exactly.

    A float is taken as it is written: 1.3 is 13/10. ValueError if `factor` is not a number above 0, or if times
    become larger than a trace can have.
    """
    ratio = _positive(factor, "a scale factor")
    first = int(jobs.submit.min())
    since = jobs.submit - first
    if first + math.floor(int(since.max()) * ratio) > LIMIT:
        raise ValueError(f"a scale factor of {factor} makes submit times too large")
    return replace(jobs, submit=first + _times_ratio(since, ratio))


def scale_to_load(workload: Workload, nodes: int, load: Exact) -> Workload:
    """Scale the arrivals to an offered load on `nodes` nodes (0.5: half of their capacity); ValueError."""
    return scale(workload, load_factor(workload, nodes, load))


def load_factor(workload: Workload, nodes: int, load: Exact) -> Fraction:
    """Return the exact factor by which `scale_to_load` multiplies the times between arrivals; ValueError as there."""
    target = _positive(load, "a target load")
    return _offered(workload, nodes) / target


def with_estimates(workload: Workload, factor: Decimal) -> Workload:
    """Multiply the excess of the requested times over the run times by `factor`, rounded up to whole seconds."""
    ratio = Fraction(factor)
    above = workload.requested - workload.run
    return replace(workload, requested=workload.run - _times_ratio(-above, ratio))


def offered_load(workload: Workload, nodes: int) -> float:
    """Return the work over the node-seconds from the first to the last arrival; ValueError if that is no time."""
    return float(_offered(workload, nodes))


def _offered(workload: Workload, nodes: int) -> Fraction:
    span = int(workload.submit.max()) - int(workload.submit.min())
    if span == 0:
        raise ValueError("all jobs are submitted at the same time, so there is no offered load")
    return Fraction(node_seconds(workload.nodes, workload.run), nodes * span)


def _times_ratio(values: Ints, ratio: Fraction) -> Ints:
    """Return floor(values * ratio); all results must fit in 64 bits."""
    up, down = ratio.numerator, ratio.denominator
    if down < 2**63 and int(np.abs(values).max()) * up < 2**63:
        return values * up // down
    scaled = np.empty_like(values)
    for start in range(0, len(values), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        scaled[part] = [value * up // down for value in values[part].tolist()]
    return scaled


def _positive(value: Exact, what: str) -> Fraction:
    try:
        ratio = value if isinstance(value, Fraction) else _as_written(str(value))
    except (ValueError, ArithmeticError):
        ratio = Fraction(0)
    if ratio <= 0:
        raise ValueError(f"{what} is a number above 0, not {value}")
    return ratio


def _as_written(text: str) -> Fraction:
    if "/" in text:
        return Fraction(text)
    value = Decimal(text)
    # 1e999999999 as a fraction would have a thousand million digits.
    return Fraction(value) if value.is_finite() and abs(value.adjusted()) <= 30 else Fraction(0)
