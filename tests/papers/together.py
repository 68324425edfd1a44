"""Domains of any kinds in simulations."""

from dataclasses import replace
from random import Random

import numpy as np

from cosched.core.scheduling.primitives.codes import CONSERVATIVE, EASY
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.molding.jobs import Moldable
from cosched_papers.molding.kind import MOLDING
from cosched_papers.molding.kind import molded as molded_jobs
from cosched_papers.molding.settings import MoldingSettings, Sizing
from cosched_sim.domain_setup import DomainSetup
from tests.papers.fluid import fluid_exact
from tests.papers.kinds import HETEROGENEOUS_SETTINGS, SLOW, columns
from tests.sim.exact import ref_domain, setup_of, some_jobs
from tests.sim.schedulers.together import express


def setup(random: Random, name: str, kind: str, most: int = 12, **settings: object) -> DomainSetup:
    """A domain of this kind, with jobs and settings of all sorts."""
    if kind == "fluid":
        return fluid_exact.setup(
            fluid_exact.fluid_domain(random, name, fluid_exact.fluid_jobs(random, most), **settings)
        )
    batch = setup_of(ref_domain(random, name, some_jobs(random, most), **settings))
    if kind == "molding":
        return molded(batch, random)
    if kind == "heterogeneous":
        return unlike(batch, random)
    return express(batch, random.choice([5, 20, 50])) if kind == "express" else batch


def molded(of: DomainSetup, random: Random) -> DomainSetup:
    """The same domain, whose jobs are molded."""
    hows = [random.choice([None, Moldable(), Moldable()]) for _ in range(len(of.workload))]
    sizing = random.choice(list(Sizing))
    may_plan = sizing in (Sizing.CIRNE_BERMAN, Sizing.NONE)
    backfilling = random.choice([EASY, CONSERVATIVE]) if may_plan else EASY
    cluster = MoldingSettings(of.cluster.nodes, sizing, backfilling=backfilling)
    return replace(of, cluster=cluster, kind=MOLDING, jobs=molded_jobs(of.workload, hows, cluster.nodes))


def unlike(of: DomainSetup, random: Random) -> DomainSetup:
    """A domain with the same jobs, of classes and priorities, on machines that are not alike."""
    rules = random.choice([rules for rules in HETEROGENEOUS_SETTINGS.values() if rules.slots == of.cluster.slots])
    slow = random.choice([SLOW, 40])  # jobs of all classes run on clusters, or where they end first
    times = {pair: random.randint(1, 3) * min(seconds, slow) for pair, seconds in rules.times.items()}
    rules = replace(rules, times=times)
    one = np.ones(len(of.workload), np.int64)
    work = replace(of.workload, nodes=one, run=one, requested=one)
    jobs = [columns("heterogeneous", random, 1) for _ in range(len(work))]
    return replace(of, workload=work, cluster=rules, kind=HETEROGENEOUS, jobs=jobs)
