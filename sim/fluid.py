"""Fluid domains in a replay. Where no job has a mate, each is played by itself, from its first job to its last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cosched.compilation import prepare_kernels
from cosched.core.allocation import Counts
from cosched.core.job import JobState
from cosched.core.scheduling.fluid import warming
from cosched.core.scheduling.fluid.machine import FluidJobs, FluidTrace, Sizes
from cosched.core.scheduling.fluid.settings import FluidSettings
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.story import What
from cosched.sim.configuration import Domain
from cosched.sim.fluid_setup import fluid_setup
from cosched.sim.holds_and_yields import HoldLog, YieldLog
from cosched.sim.results.result import DomainResult, Jobs
from cosched.sim.telling import RESIZED
from cosched.workload.allocations import AllocationEnd, AllocationLog, Allocations
from cosched.workload.jobs import UNKNOWN, Workload


def prepare(say: Callable[[str], None], *, mates: bool = False, slots: bool = False) -> float:
    """Compile or load the kernels, also those of jobs with mates, or slots; return the seconds that took."""
    seconds = prepare_kernels(run_kernels, say)
    if mates:
        seconds += prepare_kernels(warming.use_kernels, say)
    if slots:
        seconds += prepare_kernels(warming.use_kernels_of_slots, say)
    return seconds


def run_kernels() -> None:
    """Use the kernels of fluid domains."""
    submit, least, ideal, run, zero = (np.array(each, np.int64) for each in ([0, 1], [1, 1], [2, 2], [3, 3], [0, 0]))
    FluidTrace(FluidSettings(2), FluidJobs(submit, least, ideal, run, run, zero > 0, zero, zero)).run()


class FluidRun:
    """One fluid domain without mates, from its workload to its results."""

    def __init__(self, domain: Domain, workload: Workload, nodes: int) -> None:
        """Play it; InputError."""
        self._domain, self._work, self._nodes = domain, workload, nodes
        self._trace = FluidTrace(*fluid_setup(domain, workload, nodes))
        self._sizes = self._trace.run()

    def result(self) -> DomainResult:
        """Return what came of it."""
        jobs = self._jobs()
        return DomainResult(
            self._domain,
            self._nodes,
            self._work,
            jobs,
            releases=0,
            last_event=max(int(jobs.end.max()), int(self._work.submit.max())),
            holds=HoldLog().holds(0, 0),
            yields=YieldLog().yields(),
            allocations=_allocations(self._sizes, jobs),
            fluid=facts(self._trace.counts(self._sizes), jobs, self._work),
        )

    def _jobs(self) -> Jobs:
        records, none = self._trace.state.jobs, np.full(len(self._work), UNKNOWN, np.int64)
        start, end, zero = records["start"].copy(), records["end"].copy(), np.zeros(len(self._work), np.int64)
        state = np.full(len(self._work), int(JobState.COMPLETED), np.int64)
        return Jobs(start.copy(), start, end, end - start, zero, zero, zero, state, none, none, none)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what happened to the jobs; sorted by time, stably, it is in order."""
        for row, end in enumerate(self._trace.state.jobs["end"].tolist()):
            yield self._event(end, row, What.COMPLETED)
        for row, submit in enumerate(self._work.submit.tolist()):
            yield self._event(submit, row, What.SUBMITTED)
        started = set()
        sizes = self._sizes
        columns = (column.tolist() for column in (sizes.row, sizes.at, sizes.procs, sizes.gave_to))
        for row, at, procs, other in zip(*columns, strict=True):
            event = self._event(at, row, RESIZED if row in started else What.STARTED)
            gave_to = {} if other == NONE else {"gave_to": self._id(other)}
            yield {**event, "nodes": procs, **gave_to}
            started.add(row)

    def _event(self, time: int, row: int, what: str) -> dict[str, Any]:
        return {"time": time, "domain": self._domain.name, "job": self._id(row), "event": what}

    def _id(self, row: int) -> str:
        return str(self._work.job_id[row])


def facts(counts: Counts, jobs: Jobs, work: Workload) -> dict[str, Any]:
    """Return what is special to the summary of a fluid domain; the means are over jobs that have ended."""
    ended = jobs.end != UNKNOWN
    if not ended.any():
        return {"mean_run_s": None, "mean_total_s": None, "jobs_per_hour": 0.0, **counts._asdict()}
    submit, end = work.submit[ended], jobs.end[ended]
    return {
        "mean_run_s": float(np.mean(jobs.run[ended])),
        "mean_total_s": float(np.mean(end - submit)),
        "jobs_per_hour": 3600 * len(end) / int(end.max() - work.submit.min()),
        **counts._asdict(),
    }


def _allocations(sizes: Sizes, jobs: Jobs) -> Allocations:
    log = AllocationLog()
    for row, at, procs in zip(sizes.row.tolist(), sizes.at.tolist(), sizes.procs.tolist(), strict=True):
        log.begin(row, procs, at)
    for row, end in enumerate(jobs.end.tolist()):
        log.end(row, end, AllocationEnd.COMPLETED)
    return log.allocations(0)
