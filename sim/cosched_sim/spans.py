"""Remarks on when jobs are submitted: on logs that do not overlap, and on pairings that find nothing."""

from __future__ import annotations

from collections.abc import Sequence

from cosched.words.quantities import count, duration
from cosched_sim.configuration import ReplayConfig
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing

MENDING = "shift=TIME or start=TIME of a domain moves its jobs"
MOST_NAMED = 4


def apart(names: Sequence[str], workloads: Sequence[Workload]) -> str | None:
    """Say which domains have no job submitted while others have theirs; None if there are no such domains."""
    spans = [(int(jobs.submit.min()), int(jobs.submit.max())) for jobs in workloads]
    alone = [
        number
        for number, (first, last) in enumerate(spans)
        if not any(number != other and first <= end and begin <= last for other, (begin, end) in enumerate(spans))
    ]
    if len(spans) < 2 or not alone:
        return None
    named = alone if len(spans) > MOST_NAMED else range(len(spans))
    told = [f"{names[n]} from {duration(spans[n][0])} to {duration(spans[n][1])}" for n in [*named][:MOST_NAMED]]
    more = " and others" if len(named) > MOST_NAMED else ""
    return f"the logs do not overlap: jobs are submitted on {', on '.join(told)}{more}; {MENDING}"


def nothing_paired(config: ReplayConfig, workloads: Sequence[Workload], pairing: Pairing) -> str:
    """Say why the pairing of several domains has found no mates."""
    if config.pairs is not None:
        rows = f"{count(pairing.dropped, 'row')}, of jobs that were left out" if pairing.dropped else "no row"
        return f"no jobs are paired: {config.pairs} has {rows}"
    if config.pair_window is not None:
        return f"no jobs are paired: no two were submitted within {duration(config.pair_window)} of each other"
    if config.pair_fraction is not None:
        jobs = len(workloads[0]) if config.group_size is None else sum(map(len, workloads))
        return f"no jobs are paired: a share of {config.pair_fraction} of {count(jobs, 'job')} makes no pair"
    return "no jobs are paired: use --pairs, --pair-window or --pair-fraction"
