"""The outcomes that players report, as the results of a replay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cosched.core.job import JobState
from cosched.sim.federation.player import JobOutcome
from cosched.sim.results.collecting import add_pairs
from cosched.sim.results.result import Jobs
from cosched.workload.jobs import UNKNOWN, Workload
from cosched.workload.pairing import Pairing


def jobs_of(outcomes: Sequence[JobOutcome], workload: Workload, pairing: Pairing, index: int, now: int) -> Jobs:
    """The jobs of domain `index` in trace order, with their pairs; holds that last are counted until now."""
    columns = np.array(outcomes, np.int64).reshape(len(outcomes), len(JobOutcome._fields)).T
    told = dict(zip(JobOutcome._fields, columns, strict=True))
    since = told.pop("hold_start")
    told["held_node_seconds"] = told["held_node_seconds"] + np.where(
        since == UNKNOWN, 0, workload.least_nodes * (now - since)
    )
    start, end = told["start"], told["end"]
    jobs = Jobs(
        **told,
        run=np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, workload.run),
        **{name: np.full(len(outcomes), UNKNOWN, np.int64) for name in ("pair", "mate_domain", "mate")},
    )
    add_pairs(jobs, pairing, index)
    return jobs


def last_event(jobs: Jobs, workload: Workload, now: int) -> int:
    """Return when the last job ended or was submitted, or the end of the replay if a job holds or waits again."""
    waits_again = (jobs.state == JobState.QUEUED) & (jobs.start != UNKNOWN)
    if ((jobs.state == JobState.HOLDING) | waits_again).any():
        return now
    return max(int(jobs.end.max()), int(workload.submit.max()))
