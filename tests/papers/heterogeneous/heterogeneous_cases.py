"""Heterogeneous domains for the product and for the reference, from the same sites and jobs."""

from dataclasses import replace
from random import Random

import numpy as np

from cosched.core.settings import CoschedulingSettings, Scheme
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.heterogeneous.settings import Algorithm, HeterogeneousSettings
from cosched_papers.heterogeneous.site import Cluster, Machine, Site
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.workload.allocations import AllocationEnd
from cosched_sim.workload.jobs import Workload
from tests.papers.heterogeneous.tables import random_site
from tests.reference.heterogeneous import C, M, RefDomain, RefJob, RefSite
from tests.sim.schedulers.together import played

Run = tuple[int, str, int, int, int, bool]  # job, M or C, resource, start, end, whether it was preempted


def settings_of(site: RefSite, algorithm: str = "pjs", *, goes_on: bool = False) -> HeterogeneousSettings:
    machines = tuple(Machine(f"slot{m}", "m") for m in range(site.machines))
    clusters = tuple(Cluster(f"c{c}", tuple(of), len(of)) for c, of in enumerate(site.clusters))
    times = {(of, f"slot{m}"): seconds for (of, m), seconds in site.seq.items()}
    times |= {(of, f"c{c}"): seconds for (of, c), seconds in site.par.items()}
    rules = {"quantum": site.quantum, "preemptive": site.preemptive, "promote_after": site.promote_after}
    return HeterogeneousSettings(Site(machines, clusters, **rules), times, Algorithm(algorithm), goes_on)


def setup_of(site: RefSite, jobs: list[RefJob], name: str = "A", **settings) -> DomainSetup:
    jobs = sorted(jobs, key=lambda job: (job.submit, job.id))
    ids, submit = (np.array([getattr(job, key) for job in jobs], np.int64) for key in ("id", "submit"))
    one = np.ones(len(jobs), np.int64)
    workload = Workload(name, ids, submit, one, one, one)
    says = [Classed(job.job_class, Priority(job.priority)) for job in jobs]
    coscheduling = CoschedulingSettings(scheme=Scheme.YIELD)
    return DomainSetup(name, workload, settings_of(site, **settings), coscheduling, HETEROGENEOUS, says)


def runs_of(setup: DomainSetup) -> tuple[list[Run], dict[str, int]]:
    """What the product does: all runs by start and job, and what it counts."""
    domain = played([setup]).domains[setup.name]
    had = domain.allocations
    ids = domain.workload.job_id
    runs = [
        (
            int(ids[row]), M if name.startswith("slot") else C, int(name.strip("slotc")), start, end,
            how != AllocationEnd.COMPLETED,
        )
        for row, _, _, start, end, how, _, name in had.rows()
    ]  # fmt: skip
    return sorted(runs, key=lambda run: (run[3], run[0])), dict(domain.counts)


def runs_of_reference(domain: RefDomain, jobs: list[RefJob]) -> list[Run]:
    domain.run(jobs)
    runs = [
        (job.id, kind, resource, start, end, number < len(job.runs) - 1)
        for job in jobs
        for number, (kind, resource, start, end) in enumerate(job.runs)
    ]
    return sorted(runs, key=lambda run: (run[3], run[0]))


def random_domain(draw: Random, most: int = 25) -> tuple[RefSite, list[RefJob]]:
    """A site with rules of all sorts, and jobs of all priorities."""
    site = random_site(draw)
    site = replace(
        site,
        quantum=draw.choice([0, 0, 1, 5, 10]),
        preemptive=draw.random() < 0.7,
        promote_after=draw.choice([0, 0, 1, 2]),
    )
    latest = draw.choice([10, 60, 300])
    jobs = [
        RefJob(number, draw.randint(0, latest), draw.choice("abcd"), draw.choice([0, 1, 2, 2]))
        for number in range(1, draw.randint(1, most) + 1)
    ]
    return site, jobs
