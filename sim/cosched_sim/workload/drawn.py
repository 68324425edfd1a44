"""What all drawn workloads share: the form of their logs, and the ranges of their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from cosched_sim.workload.jobs import UNKNOWN, Ints, TraceLog

MOST_JOBS = 10**6


def drawn_log(
    source: str,
    *,
    submit: Ints,
    run: Ints,
    size: Ints,
    requested: Ints | None = None,
    header: Mapping[str, str],
    columns: Mapping[str, Ints] | None = None,
) -> TraceLog:
    """Return drawn jobs as if read from a file, with ids from 1; `requested` None: users know their run times."""
    unknown, number = np.full(len(run), UNKNOWN, np.int64), np.arange(1, len(run) + 1, dtype=np.int64)
    return TraceLog(
        source=source,
        job_id=number,
        submit=submit,
        wait=unknown,
        run=run,
        allocated=size,
        requested_procs=size,
        requested_time=run if requested is None else requested,
        status=np.ones_like(unknown),
        user=unknown,
        line=number,
        header=header,
        columns=columns or {},
    )


def machine_header(computer: str, nodes: int, note: str = "") -> dict[str, str]:
    """Return the SWF header of jobs that are drawn for a machine of so many nodes of one processor."""
    header = {"Computer": computer, "MaxNodes": str(nodes), "MaxProcs": str(nodes)}
    return header | ({"Note": note} if note else {})


def check_range(key: str, value: float | Fraction, least: float | Fraction, most: float) -> None:
    """ValueError for a parameter that is out of range."""
    if not least <= value <= most:
        said, low, high = (str(each) if isinstance(each, int) else f"{float(each):g}" for each in (value, least, most))
        raise ValueError(f"{key}: {said} is not between {low} and {high}")
