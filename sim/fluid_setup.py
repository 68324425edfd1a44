"""What a fluid domain of a replay is: its rules, and its jobs."""

from __future__ import annotations

from typing import NamedTuple

from cosched.core.allocation import Malleable
from cosched.core.scheduling.fluid.machine import FluidJobs, check_jobs
from cosched.core.scheduling.fluid.settings import FluidSettings
from cosched.core.settings import ReleaseOrder
from cosched.errors import InputError
from cosched.sim.configuration import Domain
from cosched.workload.jobs import Workload
from cosched.workload.malleable import as_stated


class FluidSetup(NamedTuple):
    """What a fluid domain is: its rules, and its jobs in trace order."""

    settings: FluidSettings
    jobs: FluidJobs

    def malleable(self) -> list[Malleable]:
        """Return how each job changes its size."""
        jobs = self.jobs
        columns = (column.tolist() for column in (jobs.least, jobs.parabolic, jobs.fixed, jobs.data))
        return [
            Malleable(least, parabolic, fixed, data, jobs.tables.get(row))
            for row, (least, parabolic, fixed, data) in enumerate(zip(*columns, strict=True))
        ]


def fluid_setup(domain: Domain, workload: Workload, nodes: int) -> FluidSetup:
    """Return the setup of a fluid domain; InputError: a job cannot be counted exactly."""
    jobs = fluid_jobs(domain, workload)
    try:
        check_jobs(jobs, nodes)
    except ValueError as error:
        raise InputError(f"domain {domain.name}", None, str(error)) from None
    wanted_first = domain.release_order is ReleaseOrder.WANTED
    settings = domain.fluid_settings(nodes, wanted_first=wanted_first, slots=domain.meeting.slots)
    return FluidSetup(settings, jobs)


def fluid_jobs(domain: Domain, workload: Workload) -> FluidJobs:
    """Return the jobs of a workload; what its log does not state is as the domain says."""
    assert workload.malleable is not None
    malleable = as_stated(workload.malleable, parabolic=domain.model == "parabolic", fixed=domain.resize_cost)
    return FluidJobs(
        submit=workload.submit,
        least=malleable.least,
        ideal=workload.nodes,
        run=workload.run,
        requested=workload.requested,
        parabolic=malleable.parabolic == 1,
        fixed=malleable.fixed,
        data=malleable.data,
    )
