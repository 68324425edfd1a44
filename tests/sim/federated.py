"""Plays a case by one CorePlayer for each domain, led by the conductor."""

from __future__ import annotations

from collections.abc import Sequence

from cosched.adapters.replay.trace import TraceJob
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.sim.engine import DomainSetup, Engine
from cosched.sim.federation.conductor import Conductor
from cosched.sim.federation.core_player import CorePlayer, Link
from cosched.sim.federation.outcomes import jobs_of
from cosched.sim.results.result import collect
from cosched.workload.pairing import Pairing


def trace_jobs(setups: Sequence[DomainSetup], pairing: Pairing, index: int) -> list[TraceJob]:
    """The jobs of one domain, with their mates."""
    mates = {}
    for number, domains, rows in zip(pairing.row, pairing.domain.tolist(), pairing.job.tolist(), strict=True):
        if index in domains:
            side = domains.index(index)
            mates[rows[side]] = setups[domains[1 - side]], str(number)
    work = setups[index].workload
    columns = (work.job_id, work.submit, work.nodes, work.requested, work.run)
    jobs = []
    for row, (name, *numbers) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        peer, pair = mates.get(row, (None, None))
        mate = {"peer": peer.name, "pair": pair, "alone": not peer.coscheduling.enabled} if peer else {}
        jobs.append(TraceJob(row + 1, str(name), *numbers, **mate))
    return jobs


def played(setups: Sequence[DomainSetup], pairing: Pairing) -> dict[str, object]:
    """What came of it, job for job, and how it ended."""
    link = Link()
    players = [
        CorePlayer(setup.name, setup.coscheduling, OpenCluster(setup.cluster), trace_jobs(setups, pairing, index), link)
        for index, setup in enumerate(setups)
    ]
    conductor = Conductor(players)
    conductor.run()
    found: dict[str, object] = {"stalled": conductor.stalled, "now": conductor.now}
    for index, (setup, player) in enumerate(zip(setups, players, strict=True)):
        outcomes, releases = player.results()
        found[setup.name] = _columns(jobs_of(outcomes, setup.workload, pairing, index, conductor.now)), releases
    return found


def simulated(setups: Sequence[DomainSetup], pairing: Pairing) -> dict[str, object]:
    """The same, of the engine."""
    engine = Engine(setups, pairing)
    engine.run()
    result = collect(engine, [None] * len(setups), {})
    found: dict[str, object] = {"stalled": engine.stalled, "now": engine.now}
    for name, domain in result.domains.items():
        found[name] = _columns(domain.jobs), domain.releases
    return found


def _columns(jobs) -> dict[str, list[int]]:
    return {name: getattr(jobs, name).tolist() for name in jobs.__slots__}
