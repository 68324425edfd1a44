"""Fluid domains in a replay: each is played by itself, from its first job to its last, as its jobs have no mates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cosched.compilation import prepare_kernels
from cosched.core.job import JobState
from cosched.core.scheduling.fluid.machine import FluidJobs, FluidTrace, Sizes
from cosched.core.scheduling.fluid.settings import FluidSettings
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.story import What
from cosched.errors import InputError
from cosched.sim.allocations import AllocationEnd, AllocationLog, Allocations
from cosched.sim.configuration import Domain
from cosched.sim.holds_and_yields import HoldLog, YieldLog
from cosched.sim.results.result import DomainResult, Jobs
from cosched.workload.jobs import UNKNOWN, Workload

RESIZED = "has another size"  # what happened to a job, beside those of `What`
KERNELS = "gifts"  # a module of kernels that only these domains need


def prepare(say: Callable[[str], None]) -> float:
    """Compile or load the kernels; return the seconds that took."""
    return prepare_kernels(run_kernels, say, KERNELS)


def run_kernels() -> None:
    """Use the kernels of fluid domains."""
    submit, least, ideal, run, zero = (np.array(each, np.int64) for each in ([0, 1], [1, 1], [2, 2], [3, 3], [0, 0]))
    FluidTrace(FluidSettings(2), FluidJobs(submit, least, ideal, run, run, zero > 0, zero, zero)).run()


class FluidRun:
    """One fluid domain, from its workload to its results."""

    def __init__(self, domain: Domain, workload: Workload, nodes: int) -> None:
        """Play it; InputError."""
        self._domain, self._work, self._nodes = domain, workload, nodes
        try:
            self._trace = FluidTrace(domain.fluid_settings(nodes), fluid_jobs(domain, workload))
        except ValueError as error:
            raise InputError(f"domain {domain.name}", None, str(error)) from None
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
            fluid=self._facts(jobs),
        )

    def _jobs(self) -> Jobs:
        records, none = self._trace.state.jobs, np.full(len(self._work), UNKNOWN, np.int64)
        start, end, zero = records["start"].copy(), records["end"].copy(), np.zeros(len(self._work), np.int64)
        state = np.full(len(self._work), int(JobState.COMPLETED), np.int64)
        return Jobs(start.copy(), start, end, end - start, zero, zero, zero, state, none, none, none)

    def _facts(self, jobs: Jobs) -> dict[str, Any]:
        machine, submit = self._trace.state.machine[0], self._work.submit
        return {
            "mean_run_s": float(np.mean(jobs.run)),
            "mean_total_s": float(np.mean(jobs.end - submit)),
            "jobs_per_hour": 3600 * len(self._work) / int(jobs.end.max() - submit.min()),
            "harvests": int(machine["had"]),
            "harvests_refused": int(machine["tried"] - machine["had"]),
            "jobs_harvested": int((self._trace.state.jobs["harvests"] > 0).sum()),
            "changes_of_size": len(self._sizes.row) - len(self._work),
        }

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


def fluid_jobs(domain: Domain, workload: Workload) -> FluidJobs:
    """Return the jobs of a workload; what its log does not state is as the domain says."""
    malleable = workload.malleable
    assert malleable is not None
    by_default = domain.model == "parabolic"
    return FluidJobs(
        submit=workload.submit,
        least=malleable.least,
        ideal=workload.nodes,
        run=workload.run,
        requested=workload.requested,
        parabolic=np.where(malleable.parabolic == UNKNOWN, by_default, malleable.parabolic == 1),
        fixed=np.where(malleable.fixed == UNKNOWN, domain.resize_cost, malleable.fixed),
        data=np.maximum(malleable.data, 0),
    )


def _allocations(sizes: Sizes, jobs: Jobs) -> Allocations:
    log = AllocationLog()
    for row, at, procs in zip(sizes.row.tolist(), sizes.at.tolist(), sizes.procs.tolist(), strict=True):
        log.begin(row, procs, at)
    for row, end in enumerate(jobs.end.tolist()):
        log.end(row, end, AllocationEnd.COMPLETED)
    return log.allocations(0)
