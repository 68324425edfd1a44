"""Domains of any kinds in simulations, checked after every event; and kinds that play in other ways."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

import cosched_sim as sim
from cosched.conformance.schedulers.waiting import plain
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Start
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from cosched.schedulers.kind import SchedulerKind
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.conductor import Conductor
from cosched_sim.federation.core_player import CorePlayer
from cosched_sim.federation.cores import core_players
from cosched_sim.link import Link
from cosched_sim.playing import Run
from cosched_sim.replaying import NO_PAIRS
from cosched_sim.results.result import ReplayResult
from cosched_sim.story import StoryLog
from cosched_sim.workload.allocations import AllocationEnd, Allocations
from cosched_sim.workload.pairing import Pairing
from tests.conformance.schedulers.kinds import example

STARTED = (JobState.RUNNING, JobState.COMPLETED)


def express(of: DomainSetup, seconds: int) -> DomainSetup:
    """The same domain with the scheduler of the example; each third job is steady."""
    work = replace(of.workload, columns={"steady": np.arange(len(of.workload)) % 3 // 2})
    cluster, kind = example.ExpressSettings(of.cluster.nodes, seconds), example.EXPRESS
    return replace(of, workload=work, cluster=cluster, kind=kind, jobs=kind.jobs(None, work, cluster.nodes))


# Kinds that play otherwise


def opened(kind: SchedulerKind) -> SchedulerKind:
    """The kind, of which no domain is played by a loop of its own."""
    return type("Opened", (type(kind),), {"plays_traces": lambda *_: False})()


def restarted(kind: SchedulerKind) -> SchedulerKind:
    """The kind, whose schedulers begin anew from what is kept, as in a service that was killed, at times."""
    return type("Restarted", (type(kind),), {"open": lambda _, settings: restarting(lambda: kind.open(settings))})()


def restarting(open_scheduler: Callable[[], OpenScheduler]) -> OpenScheduler:
    """A scheduler that begins anew from what is kept of its jobs before every third instant."""
    made: Any = open_scheduler()
    of, jobs, instants = type(made), dict[str, None](), [0]

    def submit(self: Any, job: ClusterJob) -> None:
        of.submit(self, job)
        jobs[job.id] = None

    def leave(self: Any, job: str, now: int, how: JobState) -> None:
        of.leave(self, job, now, how)
        del jobs[job]

    def enter(self: Any, now: int) -> None:
        instants[-1] != now and instants.append(now)
        if len(instants) % 3 == 0:
            instants.append(now)
            fresh = open_scheduler()
            fresh.starts = self.starts
            fresh.recall(plain(self.kept_of_domain()))
            for job in map(self.job, jobs):
                fresh.submit(replace(job, kept=plain(job.kept)))
            self.__dict__ = fresh.__dict__
        of.enter(self, now)

    made.__class__ = type("Restarting", (of,), {"submit": submit, "leave": leave, "enter": enter})
    return made


# Who plays


class Watched(CorePlayer):
    """Checks after every event what must always hold."""

    checks = 0
    mates: dict[str, PairedJob]  # the jobs of the other domain

    def _do_all(self, changes) -> None:
        for change in changes:
            self._check(change)
            super()._do_all([change])
        self._check_nodes()

    def _check(self, change: object) -> None:
        """A job starts when its mate has started, or waits for the answer that it may start, too."""
        job = self._core.jobs.get(change.job) if type(change) is Start else None
        if job is not None and job.mate is not None and self._core.settings.enabled:
            assert self.mates[job.mate].state in (*STARTED, JobState.READY), job

    def _check_nodes(self) -> None:
        """No node is given to two jobs; held and busy nodes together never exceed the machine, or held ones the cap."""
        self.checks += 1
        used = self.scheduler.used()
        assert self.scheduler.free == self.scheduler.nodes - sum(used.values()) >= 0
        assert used[JobState.HOLDING] == self._core.ledger.held_nodes <= self._core.ledger.cap


def watched(setups: Sequence[DomainSetup], pairing: Pairing, player: type[Watched] = Watched) -> list[Watched]:
    """Two domains with pairs, played; every job has run, and mates have started together."""
    link = Link()
    players = core_players(setups, pairing, {each.name for each in setups}, link, player=player)
    for one, other in (players, players[::-1]):
        one.mates = other._core.jobs
    conductor = Conductor(players, link)
    conductor.run()
    outcomes = [player.results(each.name, conductor.now).jobs for player, each in zip(players, setups, strict=True)]
    assert all((jobs["state"] == JobState.COMPLETED).all() for jobs in outcomes)
    for sides, rows in zip(pairing.domain.tolist(), pairing.job.tolist(), strict=True):
        one, other = (outcomes[side]["start"][row] for side, row in zip(sides, rows, strict=True))
        assert one == other
    return players


def played(setups: Sequence[DomainSetup], pairing: Pairing = NO_PAIRS) -> ReplayResult:
    """As in a replay."""
    run = Run(setups, pairing, story=StoryLog())
    run.run()
    return run.result([sim.Domain(name=each.name, trace=".", nodes=each.cluster.nodes) for each in setups], {})


def check_together(result: ReplayResult) -> None:
    """All jobs end, mates start at the same instant, and no node has two jobs."""
    assert not result.stalled
    for found in (result.pairs, result.groups):
        assert found["desynchronised"] == found["never"] == 0
    for domain in result.domains.values():
        assert (domain.jobs.state == JobState.COMPLETED).all()
        if domain.allocations is not None:
            assert busiest(domain.allocations) <= domain.nodes
            check_allocations(domain.allocations)


def check_allocations(had: Allocations) -> None:
    """Those of a job follow each other, a resized one at once, and it has ended in the last one."""
    columns = [getattr(had, name).tolist() for name in ("row", "number", "start", "end", "ended")]
    of_jobs: dict[int, list[tuple[int, ...]]] = {}
    for row, *one in zip(*columns, strict=True):
        of_jobs.setdefault(row, []).append(tuple(one))
    for mine in map(sorted, of_jobs.values()):
        assert [number for number, *_ in mine] == list(range(1, len(mine) + 1))
        assert [how == AllocationEnd.COMPLETED for *_, how in mine] == [False] * (len(mine) - 1) + [True]
        for (_, _, end, how), (_, start, _, _) in pairwise(mine):
            assert end == start if how == AllocationEnd.RESIZED else end <= start


def busiest(had: Allocations) -> int:
    """The most nodes that jobs had at once."""
    instants = np.concatenate([had.end, had.start])
    order = np.lexsort((np.repeat([0, 1], len(had.end)), instants))  # what ends comes first
    return int(np.cumsum(np.concatenate([-had.nodes, had.nodes])[order]).max())


def schedule(result: ReplayResult) -> dict[str, object]:
    """All that came of the jobs of each domain."""
    return {
        name: [
            {column: getattr(table, column).tolist() for column in table.__slots__}
            for table in (domain.jobs, domain.allocations)
            if table is not None
        ]
        for name, domain in result.domains.items()
    }
