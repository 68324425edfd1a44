"""What a simulation leaves, as a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosched.sim.configuration import Domain
from cosched.sim.engine import Engine
from cosched.sim.results.result import DomainResult, Jobs, ReplayResult
from cosched.sim.world import World
from cosched.workload.jobs import UNKNOWN
from cosched.workload.pairing import Pairing


def collect(engine: Engine, settings: list[Domain], timing: dict[str, float], events: Any = None) -> ReplayResult:
    """Collect the results of an engine that has run."""
    domains = {
        setup.name: batch_result(engine, setup.name, index, settings[index])
        for index, setup in enumerate(engine.domains)
    }
    return ReplayResult(domains, engine.pairing, engine.stalled, events, timing)


def batch_result(world: World, name: str, index: int, settings: Domain) -> DomainResult:
    """Collect what came of one domain of a world, which is number `index` of all domains that the pairing knows."""
    here = world.index[name]
    setup, scheduler = world.domains[here], world.schedulers[here]
    return DomainResult(
        settings,
        setup.cluster.nodes,
        setup.workload,
        _jobs(world, here, index),
        scheduler.releases,
        world.last_event(here),
        scheduler.holds.holds(world.first[here], world.now),
        scheduler.yields.yields(),
    )


def _jobs(world: World, here: int, index: int) -> Jobs:
    records = world.rows(here)
    count = len(records)
    start, end, state = records["start"].copy(), records["end"].copy(), records["state"].astype(np.int64)
    run = np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, records["run"])
    jobs = Jobs(
        ready=start.copy(),
        start=start,
        end=end,
        run=run,
        holds=np.zeros(count, np.int64),
        yields=np.zeros(count, np.int64),
        held_node_seconds=np.zeros(count, np.int64),
        state=state,
        pair=np.full(count, UNKNOWN, np.int64),
        mate_domain=np.full(count, UNKNOWN, np.int64),
        mate=np.full(count, UNKNOWN, np.int64),
    )
    add_pairs(jobs, world.pairing, index)
    for row, job, held in world.paired_outcomes(here):
        jobs.ready[row] = UNKNOWN if job.ready_at is None else job.ready_at
        jobs.holds[row], jobs.yields[row], jobs.held_node_seconds[row] = job.holds, job.yields, held
    return jobs


def add_pairs(jobs: Jobs, pairing: Pairing, index: int) -> None:
    """Set pairs, groups and mates of the jobs of domain `index`; a member of a group has no mate by itself."""
    for side in (0, 1):
        here = pairing.domain[:, side] == index
        rows = pairing.job[here, side]
        jobs.pair[rows] = pairing.row[here]
        jobs.mate_domain[rows] = pairing.domain[here, 1 - side]
        jobs.mate[rows] = pairing.job[here, 1 - side]
    for group in pairing.groups:
        for domain, row in group.members:
            if domain == index:
                jobs.pair[row] = group.row
