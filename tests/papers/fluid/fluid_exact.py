"""Cases of fluid and batch domains with mates, for the product and for the reference."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from cosched.core.allocation import Table
from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.machine import FluidJobs
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.playing import Run
from cosched_sim.story import StoryLog
from cosched_sim.telling import RESIZED
from cosched_sim.workload.jobs import LEAST, Workload
from tests.papers.fluid.test_fluid_trace import settings as fluid_settings
from tests.reference import RefDomain, RefJob
from tests.reference.cofluid import FluidJob, RefFluid
from tests.reference.fluid import HARVESTING
from tests.reference.fluid_workloads import random_rules, random_table
from tests.sim.exact import CHOICES, UNITS, Groups, Pairs, Windows, pairing_of, ref_domain, setup_of, some_jobs

OF_COSCHEDULING = ("release_interval", "release_jitter", "max_held_fraction", "max_yields")


def fluid_jobs(random: Random, most: int) -> list[FluidJob]:
    """As `some_jobs`, of several sizes, models and costs."""
    parabolic, costs = random.choice([0, 0.5, 1]), random.choice([0, 0, 0.5, 1])
    return [_malleable(random, job, parabolic, costs) for job in some_jobs(random, most)]


def _malleable(random: Random, job: RefJob, parabolic: float, costs: float) -> FluidJob:
    ideal = random.choice([job.nodes, 2 * job.nodes])
    least = random.choice([1, job.nodes, random.randint(1, job.nodes)])
    fixed, data = (random.randint(0, 9), random.choice([0, 1000, 10**6])) if random.random() < costs else (0, 0)
    curved = random.random() < parabolic
    table = random_table(random, least, ideal) if random.random() < 0.2 else ((), ())
    return FluidJob(job.job_id, job.submit, job.run, job.run, ideal, least, curved, fixed, data, *table)


def fluid_domain(random: Random, name: str, jobs: list[FluidJob], **fixed: object) -> RefFluid:
    chosen = {key: random.choice(CHOICES[key]) for key in OF_COSCHEDULING}
    return RefFluid(name, UNITS, jobs, rules=random_rules(random, random.choice(HARVESTING)), **chosen, **fixed)


def made_fluid(random: Random, domain: RefDomain) -> RefFluid:
    """A fluid domain with the same jobs, which can be resized now."""
    jobs = [_malleable(random, job, 0.5, 0.3) for job in domain.jobs]
    return fluid_domain(
        random, domain.name, jobs, scheme=domain.scheme, release_order=random.choice(["wanted", "last"])
    )


def some_domain(random: Random, name: str, kind: str, most: int) -> RefDomain:
    scheme = random.choice(["hold", "hold", "yield", "yield", "off"])
    if kind == "fluid":
        return fluid_domain(random, name, fluid_jobs(random, most), scheme=scheme)
    return ref_domain(random, name, some_jobs(random, most), scheme=scheme)


def setup(domain: RefDomain) -> DomainSetup:
    """The domain as the product takes it."""
    if not isinstance(domain, RefFluid):
        return setup_of(domain)
    jobs = sorted(domain.jobs, key=lambda job: job.submit)
    columns = {
        name: np.array([getattr(job, name) for job in jobs], np.int64)
        for name in ("submit", "least", "run", "requested", "fixed", "data")
    }
    ideal, parabolic = np.array([job.nodes for job in jobs]), np.array([job.parabolic for job in jobs], bool)
    tables = {row: Table(job.times, job.costs) for row, job in enumerate(jobs) if job.times}
    known = FluidJobs(ideal=ideal, parabolic=parabolic, tables=tables, **columns)
    ids = np.array([job.job_id for job in jobs])
    work = Workload(domain.name, ids, known.submit, known.run, ideal, known.requested, columns={LEAST: known.least})
    plain = RefDomain(**{name: getattr(domain, name) for name in RefDomain.__dataclass_fields__} | {"jobs": []})
    batch = setup_of(plain)
    rules = replace(fluid_settings(domain.nodes, domain.rules), wanted_first=domain.release_order == "wanted")
    rules = replace(rules, slots=domain.slots)
    return DomainSetup(domain.name, work, rules, batch.coscheduling, FLUID, known)


def federated(domains: list[RefDomain], pairs: Pairs, groups: Groups | None = None, windows: Windows | None = None):
    """A run of the product, not yet played."""
    setups = [setup(domain) for domain in domains]
    return Run(setups, pairing_of(pairs, setups, groups, windows), story=StoryLog())


def sizes(events: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Every size that each job had, also for no time, and since when."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["event"] in ("started", RESIZED) and "nodes" in event:
            found.setdefault((event["domain"], int(event["job"])), []).append((event["time"], event["nodes"]))
    return found
