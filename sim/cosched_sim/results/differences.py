"""How much longer the jobs of one replay waited than the same jobs in another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cosched.core.job import JobState
from cosched_sim.results import metrics
from cosched_sim.results.estimate import Floats, estimate
from cosched_sim.results.result import DomainResult, ReplayResult
from cosched_sim.workload.jobs import UNKNOWN

BATCHES = 20  # of consecutive submissions: jobs that wait together count as one
LEAST = 5  # jobs in a batch; with fewer there is no interval

Differences = Mapping[str, Mapping[str, float | None]]  # by measure: mean and ci95


def differences(base: ReplayResult, other: ReplayResult) -> dict[str, Differences]:
    """Return by domain the mean differences of waits (s) and slowdowns, with 95 % intervals by batch means.

    Jobs count that ran to their ends in both replays. Waits of neighbours depend on one another, so the interval comes
    from the means of batches of consecutive jobs.
    """
    return {name: _of_domain(base.domains[name], domain) for name, domain in other.domains.items()}


def _of_domain(base: DomainResult, other: DomainResult) -> Differences:
    before, after = base.jobs, other.jobs
    chosen = (before.state == JobState.COMPLETED) & (after.state == JobState.COMPLETED)
    paired = after.pair != UNKNOWN
    waited, waits = (jobs.start - base.workload.submit for jobs in (before, after))
    slowdowns = metrics.slowdown(waits, after.run) - metrics.slowdown(waited, before.run)
    waits = (waits - waited).astype(np.float64)
    return {
        "wait_s": _said(waits[chosen]),
        "paired_wait_s": _said(waits[chosen & paired]),
        "unpaired_wait_s": _said(waits[chosen & ~paired]),
        "slowdown": _said(slowdowns[chosen]),
    }


def _said(values: Floats) -> dict[str, float | None]:
    if not len(values):
        return {"mean": None, "ci95": None}
    return {"mean": float(values.mean()), "ci95": _half_width(values)}


def _half_width(values: Floats) -> float | None:
    if len(values) < BATCHES * LEAST:
        return None
    return estimate([float(batch.mean()) for batch in np.array_split(values, BATCHES)]).half
