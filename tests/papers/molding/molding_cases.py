"""Domains whose jobs are molded, for the product and for the reference."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cosched.core.settings import CoschedulingSettings
from cosched_papers.molding.curves import Downey, Measured
from cosched_papers.molding.jobs import Moldable
from cosched_papers.molding.kind import MOLDING, molded
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.results.result import DomainResult
from cosched_sim.workload.allocations import no_allocations
from cosched_sim.workload.jobs import Workload

NO_MATES = CoschedulingSettings()


class Case(NamedTuple):
    """A job of a case; `downey`: A and sigma in millionths; `table`: its run times by sizes."""

    submit: int
    nodes: int
    run: int
    moldable: bool = True
    downey: tuple[int, int] | None = None
    requested: int = 0  # 0: as long as it runs
    bounds: tuple[int, int] = (0, 0)  # min_nodes and max_nodes; 0: none
    table: Mapping[int, int] | None = None


def rigid(submit: int, nodes: int, run: int) -> Case:
    return Case(submit, nodes, run, moldable=False)


def setup(jobs, settings, coscheduling=NO_MATES, name="A") -> DomainSetup:
    """A domain with these jobs, in the order of submission, numbered from 1."""
    columns = (np.array(column, np.int64) for column in zip(*(job[:3] for job in jobs), strict=True))
    submit, nodes, run = columns
    requested = np.array([job.requested or job.run for job in jobs])
    work = Workload(name, np.arange(1, len(jobs) + 1), submit, run, nodes, requested)
    known = molded(work, [how(job) for job in jobs], settings.nodes, settings.sizes)
    return DomainSetup(name, work, settings, coscheduling, MOLDING, known)


def how(job: Case) -> Moldable | None:
    curve = Measured.of(job.table) if job.table else job.downey and Downey(*job.downey)
    return Moldable(curve, *job.bounds) if job.moldable else None


def ran(domain: DomainResult) -> list[tuple[int, int, int]]:
    """Sizes, starts and ends of its jobs."""
    had = domain.allocations or no_allocations()
    return [(nodes, start, end) for _, _, nodes, start, end, *_ in sorted(had.rows())]
