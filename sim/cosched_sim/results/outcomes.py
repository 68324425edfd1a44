"""What players report, as the result of a replay."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cosched.core.job import JobState
from cosched_sim.configuration import Domain
from cosched_sim.federation.player import Results
from cosched_sim.results.result import DomainResult, Jobs
from cosched_sim.workload.jobs import UNKNOWN, Ints, Workload
from cosched_sim.workload.pairing import Pairing


def domain_result(
    told: Results, settings: Domain, nodes: int, workload: Workload, pairing: Pairing, index: int, now: int
) -> DomainResult:
    """Return the result of domain `index`, whose player told this at the end of the replay."""
    jobs = jobs_of(told.jobs, workload, pairing, index, now)
    return DomainResult(settings, nodes, workload, jobs, told.releases, _last_event(jobs, workload, now), *told[2:-1])


def jobs_of(told: Mapping[str, Ints], workload: Workload, pairing: Pairing, index: int, now: int) -> Jobs:
    """Return the jobs of domain `index` in trace order, with their pairs; holds that last are counted until now."""
    columns = dict(told)
    start, end, since = columns["start"], columns["end"], columns.pop("hold_start")
    lasts = np.where(since == UNKNOWN, 0, workload.least_nodes * (now - since))
    columns["held_node_seconds"] = columns["held_node_seconds"] + lasts
    jobs = Jobs(
        **columns,
        run=np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, workload.run),
        **{name: np.full(len(start), UNKNOWN, np.int64) for name in ("pair", "mate_domain", "mate")},
    )
    add_pairs(jobs, pairing, index)
    return jobs


def add_pairs(jobs: Jobs, pairing: Pairing, index: int) -> None:
    """Set pairs, groups and mates of the jobs of domain `index`; a member of a group has no mate by itself."""
    mates = pairing.mates_in(index)
    jobs.pair[mates.job] = mates.row
    jobs.mate_domain[mates.job] = mates.mate_domain
    jobs.mate[mates.job] = mates.mate


def _last_event(jobs: Jobs, workload: Workload, now: int) -> int:
    """Return when the last job ended or was submitted, or the end of the replay if a job holds or waits again."""
    waits_again = (jobs.state == JobState.QUEUED) & (jobs.start != UNKNOWN)
    if ((jobs.state == JobState.HOLDING) | waits_again).any():
        return now
    return max(int(jobs.end.max()), int(workload.submit.max()))
