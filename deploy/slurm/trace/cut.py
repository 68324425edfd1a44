"""A cut of two machines' traces, scaled down in nodes and time for two small clusters.

Times are in seconds of the trace, so that simulator and clusters get the same numbers; `speed` of them pass in one
second of the clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cosched.words.errors import InputError
from cosched_papers.studies.tang2011.logs import Log
from cosched_sim.workload import traces
from cosched_sim.workload.jobs import Ints, Workload
from cosched_sim.workload.pairing import Pairing, pairs_by_window

LEAST_RUN = 0.3  # seconds of the clusters that a job runs at least: Slurm's own work for a job takes about 0.1 s
LIMIT_STEP = 60  # seconds: Slurm's time limits are whole minutes


@dataclass(frozen=True, eq=False)
class Cut:
    """The input of two clusters, in their order: names, nodes, and jobs, which are paired by submit time."""

    names: Sequence[str]
    nodes: Sequence[int]
    workloads: Sequence[Workload]
    pairing: Pairing
    speed: int

    @property
    def span(self) -> float:
        """The seconds of the clusters from the first submission to the last."""
        return max(int(jobs.submit.max()) for jobs in self.workloads) / self.speed

    def pairs(self, domain: int) -> Mapping[int, int]:
        """Map the row of each paired job of a domain to its pair's row in `pairing`."""
        return {int(job): pair for pair, job in enumerate(self.pairing.job[:, domain])}


def prepare(logs: Mapping[str, Log], nodes: Sequence[int], pair_window: int, speed: int) -> Cut:
    """Pair the jobs of two machines by submit times (seconds), and fit them to machines of `nodes` nodes.

    A job keeps its share of the machine, rounded up to whole nodes. Run times change by one factor, so that the
    offered load stays, and are then raised to `LEAST_RUN`. Requests are rounded up to Slurm's whole minutes.
    InputError.
    """
    began = min(int(log.jobs.submit.min()) for log in logs.values())
    jobs = [replace(log.jobs, submit=log.jobs.submit - began) for log in logs.values()]
    pairing = pairs_by_window(jobs, pair_window)
    fitted = [_fitted(log.jobs, log.nodes, to, name) for (name, log), to in zip(logs.items(), nodes, strict=True)]
    hurried = [_hurried(replace(small, submit=its.submit), speed) for small, its in zip(fitted, jobs, strict=True)]
    return Cut(tuple(logs), tuple(nodes), hurried, pairing, speed)


def _fitted(jobs: Workload, nodes: int, to: int, name: str) -> Workload:
    small = replace(jobs, nodes=-(-jobs.nodes * to // nodes))
    try:
        load = traces.offered_load(jobs, nodes)
        factor = Fraction(load) / Fraction(traces.offered_load(small, to))
    except ValueError as error:
        raise InputError(name, None, str(error)) from None
    return replace(small, run=_times(jobs.run, factor), requested=_times(jobs.requested, factor))


def _times(seconds: Ints, factor: Fraction) -> Ints:
    scaled: Ints = np.maximum(1, np.rint(seconds * float(factor))).astype(np.int64)
    return scaled


def _hurried(jobs: Workload, speed: int) -> Workload:
    run = np.maximum(jobs.run, int(LEAST_RUN * speed))
    step = LIMIT_STEP * speed
    return replace(jobs, run=run, requested=-(-np.maximum(jobs.requested, run) // step) * step)
