"""A scheduler that resizes, preempts and restarts running jobs at random, paired with a batch domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Start
from cosched.core.job import JobState
from cosched.core.scheduling.allocation import Allocation
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.sim.allocations import AllocationEnd, Allocations
from cosched.sim.federation.batch_world import BatchWorld
from cosched.sim.federation.conductor import Conductor
from cosched.sim.federation.core_player import CorePlayer
from cosched.sim.link import Link
from cosched.sim.world import DomainSetup, World
from tests.core.restless import Restless, work_done
from tests.sim.exact import pairing_of, ref_domain, setup_of, some_jobs, some_pairs
from tests.sim.federated import trace_jobs
from tests.tiers import seeds

STARTED = (JobState.RUNNING, JobState.COMPLETED)


class Watched(CorePlayer):
    """Checks after every event what must always hold."""

    checks = 0
    mates: dict[str, PairedJob]  # the jobs of the other domain

    def _do_all(self, changes) -> None:
        for change in changes:
            if type(change) is Start:
                self._check_start(change.job)
            super()._do_all([change])
        self._check_nodes()

    def _check_start(self, job: str) -> None:
        """A job starts when its mate has started, or waits for the answer that it may start, too."""
        mate = self._core.jobs[job].mate
        if mate is not None:
            assert self.mates[mate].state in (*STARTED, JobState.READY), job

    def _check_nodes(self) -> None:
        """No node is given to two jobs; held and busy nodes together never exceed the machine, or held ones the cap."""
        self.checks += 1
        used = self._scheduler.used()
        assert self._scheduler.free == self._scheduler.nodes - sum(used.values()) >= 0
        assert used[JobState.HOLDING] == self._core.ledger.held_nodes <= self._core.ledger.cap


class Played:
    """One case: a restless domain A and a batch domain B."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        domains = [
            ref_domain(random, name, some_jobs(random, 12), scheme=random.choice(["hold", "yield"])) for name in "AB"
        ]
        self.setups: list[DomainSetup] = [setup_of(domain) for domain in domains]
        self.pairing = pairing_of(some_pairs(random, domains, most=9), self.setups)
        self.scheduler = Restless(self.setups[0].cluster.nodes, random, acts=random.randint(0, 30))
        self.link = Link()
        restless = self.core_player(0, self.scheduler)
        batch = (
            self.world(restless) if random.randrange(2) else self.core_player(1, OpenCluster(self.setups[1].cluster))
        )
        if isinstance(batch, Watched):
            restless.mates, batch.mates = batch._core.jobs, restless._core.jobs
        conductor = Conductor([restless, batch])
        conductor.run()
        self.checks = restless.checks
        self.scheduler.enter(conductor.now)
        self.outcomes = [restless.results("A")[0], batch.results("B")[0]]
        self.allocations: Allocations = restless.allocations(conductor.now)

    def core_player(self, index: int, scheduler: Restless | OpenCluster) -> Watched:
        setup, jobs = self.setups[index], trace_jobs(self.setups, self.pairing, index)
        return Watched(setup.name, setup.coscheduling, scheduler, jobs, self.link)

    def world(self, restless: Watched) -> BatchWorld:
        world = World(self.setups, self.pairing, elsewhere="A", link=self.link)
        restless.mates = world.coschedulers[0].jobs
        return BatchWorld(world)

    def rows(self) -> list[list[tuple[int, ...]]]:
        """The allocations of each job: number, nodes, start, end, how it ended."""
        table = self.allocations
        rows: list[list[tuple[int, ...]]] = [[] for _ in self.outcomes[0]]
        names = ("number", "nodes", "start", "end", "ended")
        for row, *one in zip(table.row.tolist(), *(getattr(table, name).tolist() for name in names), strict=True):
            rows[row].append(tuple(one))
        return rows


@pytest.mark.parametrize("seed", seeds(6, 40))
def test_what_must_always_hold_does(seed):
    done = Counter()
    for number in range(8):
        played = Played(100 * seed + number)
        done += played.scheduler.done
        assert played.checks
        check_work(played)
        check_allocations(played)
        check_pairs(played)
    assert min(done["preempted"], done["resized"], done["made room"]) > 0, done


def check_work(played: Played) -> None:
    """Every job ends in the first second in which its work is done, which is on what it had last."""
    run = played.setups[0].workload.run.tolist()
    for row, outcome in enumerate(played.outcomes[0]):
        assert outcome.state == JobState.COMPLETED
        told = played.scheduler.told[str(row + 1)]
        last = told[-1]
        assert isinstance(last, Allocation)
        assert outcome.end <= last.expected
        assert work_done(told, outcome.end) >= run[row]
        assert outcome.end == last.start or work_done(told, outcome.end - 1) < run[row]


def check_allocations(played: Played) -> None:
    """The allocations of a job do not overlap; together they are what was busy."""
    for row, mine in enumerate(played.rows()):
        outcome = played.outcomes[0][row]
        assert [number for number, *_ in mine] == list(range(1, len(mine) + 1))
        assert mine[0][2] == outcome.start
        assert [ended for *_, ended in mine].count(AllocationEnd.COMPLETED) == 1
        assert mine[-1][3:] == (outcome.end, AllocationEnd.COMPLETED)
        for (_, _, _, end, how), (_, _, start, _, _) in pairwise(mine):
            assert end == start if how == AllocationEnd.RESIZED else end <= start
    table = played.allocations
    assert int(table.nodes @ (table.end - table.start)) == played.scheduler.busy_seconds


def check_pairs(played: Played) -> None:
    """Mates start together, at first, whatever becomes of them later."""
    starts: Sequence[Sequence[int]] = [[job.start for job in outcomes] for outcomes in played.outcomes]
    for domains, rows in zip(played.pairing.domain.tolist(), played.pairing.job.tolist(), strict=True):
        one, other = (starts[domain][row] for domain, row in zip(domains, rows, strict=True))
        assert one == other
