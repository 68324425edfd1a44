"""Live domains with their databases in a simulated world: one seed makes one history.

Time is virtual. The link delays, loses and duplicates; a domain may be killed at any point, between its transaction and
what follows from it too, and starts again from its database some time later; if its host's power fails as well, from
what of it had been brought to disk. Processes outlive their domain, and their host.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import Named, named_group, named_mate
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings, OpenScheduler
from cosched.core.settings import CoschedulingSettings
from cosched.schedulers.batch import BATCH
from cosched.schedulers.kind import SchedulerKind
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.recovery import recover
from cosched.service.metrics import Metrics
from cosched.service.store import JobRecord, JobScript
from tests.service.job_records import queued
from tests.service.outside import Disk, Killed, MortalStore, Outside

SCRIPT = JobScript(b"#!/bin/sh\n", (), "/", {})
METRICS = Metrics("test")
GRACE = 6  # seconds at most between the order to end a run that was preempted, and its end
DEFAULTS = CoschedulingSettings()
AT_ONCE = 1500  # more than happens in any second
OPEN: list[World] = []  # those that are not closed yet


@dataclass
class Faults:
    """How often what goes wrong: probabilities."""

    lose: float = 0.0  # a request or its reply
    duplicate: float = 0.0  # a mutating request
    delay: int = 0  # seconds at most
    kill: float = 0.0  # at each thing that a domain does outside, or writes
    outage: int = 60  # seconds at most until it starts again
    goodbye: float = 0.0  # that it says so before it goes
    busy: float = 0.0  # that it is too busy for a call
    power: float = 0.0  # of those kills: how many are power failures
    sync: int = 0  # seconds at most that it takes to bring a database to disk


class World:
    """Domains a and b; more for groups. Tests of this folder need not close theirs."""

    node_kind: type[Node]

    def __init__(self, folder: Path, seed: int, settings: dict[str, CoschedulingSettings], faults: Faults, kind=None):
        self.random = random.Random(seed)
        self.faults = faults
        self.now = 1000
        self._due: list[tuple[int, int, Callable[[], None]]] = []  # when, a number, and what happens then
        self._number = 0
        self._at_once = 0
        self.names = list(settings)
        make = kind or self.node_kind
        self.nodes = {name: make(self, name, folder / f"{name}.db", chosen) for name, chosen in settings.items()}
        OPEN.append(self)

    def at(self, instant: int, act: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._due, (max(instant, self.now), self._number, act))

    def run(self, until: int = 10**6) -> None:
        """Until all jobs have ended and nothing is under way."""
        while self._due and self.now < until and not self.is_over():
            self._at_once = self._at_once + 1 if self._due[0][0] == self.now else 0
            assert self._at_once < AT_ONCE, f"no end of what happens at {self.now}"
            self._next()

    def run_until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self._next()

    def _next(self) -> None:
        self.now, _, act = heapq.heappop(self._due)
        act()

    def close(self) -> None:
        OPEN.remove(self)
        for node in self.nodes.values():
            node.store.close()

    def is_over(self) -> bool:
        return all(node.is_over() for node in self.nodes.values())

    def chance(self, probability: float) -> bool:
        return probability > 0 and self.random.random() < probability

    def delay(self) -> int:
        return self.random.randint(0, self.faults.delay) if self.faults.delay else 0

    def others(self, name: str) -> list[str]:
        return [other for other in self.names if other != name]


class WorldClock:
    """Service time is the world's."""

    shift = 0

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> int:
        return self._world.now

    exact = now

    def to_wall(self, instant: int) -> int:
        return instant

    from_wall = to_wall


class Node:
    """One domain, its machine, and its life."""

    kind: SchedulerKind = BATCH
    share = Decimal(1)  # the domain's mate_budget_share
    places: Places | None = None
    aside: Collection[str] = ()  # jobs that are put aside at its starts

    def __init__(self, world: World, name: str, path: Path, settings: CoschedulingSettings) -> None:
        self.world, self.name, self.path, self.settings = world, name, path, settings
        self.expected: set[str] = set()  # jobs that were or will be submitted
        self.acknowledged: set[int] = set()
        self.running: dict[str, int] = {}  # processes, by the instants at which they end
        self.starts: Counter[str] = Counter()
        self.preempted: set[str] = set()
        self.cancelled: set[str] = set()
        self.stopped: Counter[str] = Counter()  # runs that were ended, since their jobs were preempted
        self.started_at: dict[str, int] = {}
        self.why: dict[str, str] = {}
        self.done: set[str] = set()
        self.run_times: dict[str, int] = {}
        self.lives = 0
        self.power_failures = 0
        self.domain: LiveDomain | None = None
        self.begin()

    # Life and death

    def begin(self) -> None:
        self.lives += 1
        self.began = self.world.now
        try:
            self.store = MortalStore.open(self.path, self.name)
            self.store.node = self
            self.disk = Disk(self, self.lives)
            self._live()
            for peer in self.world.others(self.name):
                self._look_for_peer(peer)
        except Killed:
            self._die()

    def _live(self) -> None:
        """Begin from what is on record."""
        self._check_record()
        self.domain = LiveDomain(
            self.name, self.settings, self._scheduler(), self.store, WorldClock(self.world), METRICS, kind=self.kind,
            places=self.places,
        )  # fmt: skip
        for job in recover(self.domain, Outside(self, self.lives), self.aside):
            if job not in self.running and job not in self.done:
                self.launch(job)
        for job in [job for job, record in self.domain.jobs.items() if record.preempted_at is not None]:
            self.preempt(job)
        for job in [job for job, record in self.domain.jobs.items() if record.cancelled_by is not None]:
            self.cancel(job)
        for job in sorted(self.done & self.domain.jobs.keys()):  # always the same order, for the same history
            self.domain.end(job, JobState.COMPLETED)
        self._look_round()

    def _scheduler(self) -> OpenScheduler:
        slots = self.settings.slots
        meets = {"mate_budget": Decimal("0.5" if slots else 0), "slots": slots, "mate_budget_share": self.share}
        return OpenCluster(ClusterSettings(10, parse_ordering("fcfs"), BACKFILLING["easy"], **meets))

    def _check_record(self) -> None:
        """What was acknowledged is on record, and nothing runs or has run that was not to."""
        assert all(self.store.job(job) for job in self.acknowledged)
        for job in (*self.running, *self.done):
            record = self.store.job(int(job))
            launched = record.state >= JobState.RUNNING or record.preempted_at is not None
            assert launched, f"{self.name}{job} was launched too early"

    def _look_round(self) -> None:
        """The periodic iteration."""

        def look() -> int:
            self.guarded(self.domain.reschedule)
            return 30

        self._repeat(30, look)

    def _look_for_peer(self, peer: str) -> None:
        """The heartbeat: once a second, as long as a peer is away, else each ten."""

        def look() -> int:
            there = self.world.nodes[peer].domain is not None
            self.guarded(lambda: self.domain.presence.answers(peer, there))
            return 1 if self.domain is not None and self.domain.presence.expected() else 10

        self._repeat(2, look)

    def _repeat(self, after: int, act: Callable[[], int]) -> None:
        """Do something so many seconds from now, and again after as many as it says, in this life of the domain."""
        life = self.lives

        def look() -> None:
            if self.lives == life:
                self.world.at(self.world.now + act(), look)

        self.world.at(self.world.now + after, look)

    def may_die(self) -> None:
        if self.world.chance(self.world.faults.kill):
            raise Killed

    def guarded(self, act: Callable[[], Any]) -> Any:
        """Do something in the domain, which may be its death."""
        if self.domain is None:
            return None
        try:
            return act()
        except Killed:
            self._die()
            return None

    def _die(self) -> None:
        if self.world.chance(self.world.faults.goodbye):
            for other in self.world.others(self.name):
                self._take_leave(self.world.nodes[other])
        self.lives += 1
        self.domain = None
        self.store.close()
        if self.world.chance(self.world.faults.power):
            self.power_failures += 1
            self.path.write_bytes(self.disk.content)
        self.world.at(self.world.now + self.world.random.randint(0, self.world.faults.outage), self.begin)

    def _take_leave(self, other: Node) -> None:
        self.world.at(self.world.now, lambda: other.guarded(lambda: other.domain.presence.leaves(self.name, None)))

    def restart(self) -> None:
        """End its service in order, and begin another."""
        self.store.close()
        self.begin()

    def end_for_good(self) -> None:
        self.lives += 1
        self.domain = None

    def ask(self, request: Any, peer: str = "b") -> Any:
        """A peer's call."""
        return self.domain.questions.ask(Asked(peer, request))

    # Jobs

    def submit(self, job: int, nodes: int, run: int, pair: str | None, group: str | None = None) -> None:
        """A user submits, and tries again until the answer comes. `group`: of all domains."""
        self.run_times[str(job)] = run
        self.expected.add(str(job))
        if job in self.acknowledged:
            return
        if self.domain is None:
            self.world.at(self.world.now + 5, lambda: self.submit(job, nodes, run, pair, group))
            return
        if self.store.job(job) is None:
            named = self.named(pair, group)
            record = queued(job, nodes, run + 5, self.world.now, named=named, domain=self.name)
            record.columns = self.columns(record)
            self.guarded(lambda: self._submit(record))
        if self.domain is not None:
            self.disk.when_durable(self.store.commits, lambda: self.acknowledged.add(job))
        if job not in self.acknowledged:
            self.world.at(self.world.now + 70, lambda: self.submit(job, nodes, run, pair, group))

    def named(self, pair: str | None, group: str | None) -> Named | None:
        others = tuple(self.world.others(self.name))
        return named_mate(others[0], pair) if pair else named_group(group, others) if group else None

    def columns(self, record: JobRecord) -> str | None:  # noqa: ARG002
        """What the job says of itself, as its record keeps it."""
        return None

    def _submit(self, record: JobRecord, script: JobScript = SCRIPT) -> None:
        with self.domain.turns.take():
            self.domain.add(record, script)
            self.domain.admit(record)
            self.domain.enqueue(record)

    def launch(self, job: str) -> None:
        if job in self.running or job in self.done or not self.domain.jobs[job].is_launched:
            return  # the manager knows it already
        self.starts[job] += 1
        self.started_at.setdefault(job, self.world.now)
        self.running[job] = self.world.now + self.run_times[job]
        run = self.starts[job]
        self.world.at(self.running[job], lambda: self._is_present(job, run) and self._end(job))

    def _end(self, job: str) -> None:
        del self.running[job]
        self.done.add(job)
        self.guarded(lambda: self.domain.end(job, JobState.COMPLETED))

    def preempt(self, job: str) -> None:
        """End its run, some seconds later, or when it ends by itself before."""
        if job in self.done or self.domain.jobs[job].preempted_at is None:
            return
        if job not in self.running:  # it was never launched, or nothing of it is left
            self.world.at(self.world.now, lambda: job not in self.running and self._is_stopped(job))
            return
        run = self.starts[job]
        self.world.at(self.world.now + self.world.random.randint(0, GRACE), lambda: self._stop(job, run))

    def cancel(self, job: str) -> None:
        """End it for good, some seconds later."""
        run = self.starts[job]
        self.world.at(self.world.now + self.world.random.randint(0, GRACE), lambda: self._end_early(job, run))

    def _end_early(self, job: str, run: int) -> None:
        if job in self.done or self.starts[job] != run:
            return
        self.running.pop(job, None)
        self.cancelled.add(job)
        self.guarded(lambda: self.domain.end(job, JobState.CANCELLED))

    def _stop(self, job: str, run: int) -> None:
        if self._is_present(job, run):
            del self.running[job]
            self.stopped[job] += 1
            self._is_stopped(job)

    def _is_stopped(self, job: str) -> None:
        self.guarded(lambda: self.domain.run_over(job))

    def _is_present(self, job: str, run: int) -> bool:
        return job in self.running and self.starts[job] == run

    def run_for(self, job: int, seconds: int) -> None:
        """Whatever the job has asked for."""
        self.run_times[str(job)] = seconds

    def is_over(self) -> bool:
        return self.domain is not None and self.expected <= self.done | self.cancelled and not self.domain.jobs

    def check_over(self) -> None:
        """Every job ran once, to its end; all others were ended for others. Nothing is left of them."""
        assert self.starts == Counter(self.expected) + self.stopped
        assert self.domain.core.ledger.held_nodes == 0
        assert self.domain.scheduler.free == self.domain.scheduler.nodes
        for job in self.domain.core.jobs.values():
            assert job.slot is None
            assert job.group is None or job.group.promise is None


World.node_kind = Node


def domain_a(
    folder: Path, settings: CoschedulingSettings = DEFAULTS, names: str = "ab", kind: type[Node] = Node
) -> Node:
    """The first domain of a world without faults, in which all are of this kind, and have these settings."""
    return World(folder, 1, dict.fromkeys(names, settings), Faults(), kind).nodes["a"]
