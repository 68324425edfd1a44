"""A fluid domain of which jobs come and go does what one does whose trace is known (FluidTrace), to the byte."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from cosched.core.scheduling.fluid.cluster import FluidCluster
from cosched.core.settings import CoschedulingSettings
from cosched.schedulers.fluid import FLUID, FluidKind
from cosched.sim.configuration import Domain
from cosched.sim.federation.conductor import Conductor
from cosched.sim.federation.core_player import CorePlayer
from cosched.sim.federation.cores import trace_jobs
from cosched.sim.link import Link
from cosched.sim.playing import Run
from cosched.sim.replaying import NO_PAIRS
from cosched.sim.results.result import ReplayResult
from cosched.sim.story import StoryLog
from cosched.sim.world import DomainSetup
from cosched.workload.allocations import Allocations
from cosched.workload.jobs import LEAST, Workload
from tests.core.fluid.test_fluid_trace import columns, settings
from tests.reference.fluid import HARVESTING
from tests.reference.fluid_workloads import random_case
from tests.tiers import seeds


def case(seed: int, policy: str):
    """A domain as replays have it; some jobs need less than what was asked for."""
    nodes, jobs, rules = random_case(seed, policy)
    known = columns(jobs)
    slack = np.random.default_rng(seed).integers(0, 30, len(jobs)) * (seed % 2)
    known = replace(known, requested=known.run + slack)
    work = Workload(
        "a",
        np.arange(len(jobs)) + 7,
        known.submit,
        known.run,
        known.ideal,
        known.requested,
        columns={LEAST: known.least},
    )
    setup = DomainSetup("a", work, settings(nodes, rules), CoschedulingSettings(), FLUID, known)
    return setup, domain(nodes, work, setup.cluster)


class ByCorePlayers(FluidKind):
    """The fluid kind, of which no trace is played by itself."""

    plays_traces = False


def domain(nodes: int, work: Workload, rules) -> Domain:
    return Domain(
        name="a",
        trace=work,
        nodes=nodes,
        scheduler="fluid",
        harvesting=rules.harvesting.name.lower(),
        distribution=rules.distribution.value,
        level=rules.level,
        resizes=rules.resizes,
        max_harvests=rules.max_harvests,
        protect_age=rules.protect_age,
        benefit=rules.benefit,
    )


class Restarted(FluidCluster):
    """Begins anew from what is kept of its jobs, as a service does that was killed, before every third instant."""

    instants = 0

    def enter(self, now: int) -> None:
        if now != self._now:
            self.instants += 1
            if self.instants % 3 == 0:
                self.begin_anew()
        super().enter(now)

    def begin_anew(self) -> None:
        jobs = [self.job(job.id) for job in self._rows._job if job.id in self]
        super().__init__(self.settings)
        for job in jobs:
            self.submit(replace(job, share=job.share and json.loads(json.dumps(job.share))))


@pytest.mark.parametrize("seed", seeds(6, 300))
@pytest.mark.parametrize("policy", HARVESTING)
def test_jobs_go_on_where_they_were_after_a_restart(seed, policy):
    setup, configured = case(seed, policy)
    rules = replace(setup.cluster, max_harvests=None, protect_age=0, benefit=False)  # a head is not tried again
    setup = replace(setup, cluster=rules)
    player = CorePlayer("a", setup.coscheduling, Restarted(rules), trace_jobs([setup], NO_PAIRS, 0), Link())
    conductor = Conductor([player])
    conductor.run()
    assert same(played(setup, configured).domains["a"].allocations, player.allocations(conductor.now))


@pytest.mark.parametrize("seed", seeds(6, 300))
@pytest.mark.parametrize("policy", [*HARVESTING, "moldable"])
def test_jobs_that_come_and_go_have_the_same_sizes_at_the_same_time(seed, policy):
    setup, configured = case(seed, policy)
    whole, step_by_step = played(setup, configured), played(replace(setup, kind=ByCorePlayers()), configured)
    one, other = (result.domains["a"] for result in (whole, step_by_step))
    assert same(one.jobs, other.jobs)
    assert same(one.allocations, other.allocations)
    assert one.metrics == other.metrics
    assert whole.events == step_by_step.events


def played(setup: DomainSetup, configured: Domain) -> ReplayResult:
    run = Run([setup], NO_PAIRS, story=StoryLog())
    run.run()
    return run.result([configured], {})


def same(one: Allocations, other: Allocations) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in one.__slots__)
