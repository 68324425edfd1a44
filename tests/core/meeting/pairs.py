"""Domains that meet, joined by rules 3 and 4 of meet.md in a few plain lines; the rest is the compiled cluster's."""

from decimal import Decimal

import numpy as np

from cosched.core.job import JobState
from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.pools import Partitions
from cosched.core.scheduling.primitives import ordering
from cosched.core.scheduling.primitives.tables import new_tables
from cosched.core.scheduling.scheduler import ClusterSettings
from tests.reference import RefDomain
from tests.sim.exact import PRODUCTION_NAME, workload_of

ROUNDS = 50


class Side:
    """One domain and its jobs, by row."""

    def __init__(self, domain: RefDomain) -> None:
        self.work = workload_of(domain)
        partitions = Partitions(*domain.layout) if domain.layout else None
        settings = ClusterSettings(
            domain.nodes,
            parse_ordering(PRODUCTION_NAME[domain.policy]),
            BACKFILLING[domain.backfill],
            partitions,
            mate_budget=Decimal(domain.mate_budget),
            slots=domain.slots,
        )
        self.slots = domain.slots
        self.tables = new_tables([len(self.work)], [partitions.units if partitions else 0])
        for name in ("submit", "nodes", "requested", "run"):
            self.tables.jobs[name] = getattr(self.work, name)
        self.cluster = MeetingCluster(self.tables, 0, settings)
        self.mates: dict[int, tuple[Side, int]] = {}
        self.ready: dict[int, int] = {}
        self.wanted: set[int] = set()  # before their submission
        self.yields: dict[int, set[int]] = {}

    def rows(self, state: JobState) -> list[int]:
        """The jobs in this state."""
        return [int(row) for row in np.flatnonzero(self.tables.jobs["state"] == state)]

    def ends(self) -> dict[int, int]:
        """When running jobs end."""
        jobs = self.tables.jobs
        return {row: int(jobs[row]["start"]) + int(jobs[row]["run"]) for row in self.rows(JobState.RUNNING)}

    def due(self) -> dict[int, int]:
        """The slots of queued jobs."""
        slots = {row: self.cluster.slot(row) for row in self.rows(JobState.QUEUED)}
        return {row: slot for row, slot in slots.items() if slot is not None}

    def submits(self) -> dict[int, int]:
        """When jobs are submitted that are not yet."""
        return {row: int(self.tables.jobs[row]["submit"]) for row in self.rows(JobState.PENDING)}

    def instants(self) -> list[int]:
        """When something happens next."""
        return [*self.ends().values(), *self.due().values(), *self.submits().values()]

    def end_jobs(self, now: int) -> None:
        """Jobs end that do so now."""
        for row, end in self.ends().items():
            if end == now:
                self.cluster.finish(row, now, JobState.COMPLETED)

    def start_due(self, now: int) -> None:
        """Pairs start whose slot is now."""
        for row, slot in self.due().items():
            if slot == now and self.cluster.state(row) is JobState.QUEUED:
                self.start_both(row, now)

    def submit(self, now: int) -> None:
        """Jobs are queued."""
        for row, submit in self.submits().items():
            if submit == now:
                ordering.enqueue(self.tables, 0, row)
                if row in self.wanted:
                    self.cluster.want(row)

    def iterate(self, now: int) -> None:
        """Iterate until nothing changes."""
        while (turn := self.cluster.meet(now)) is not None:
            if turn.ready:
                self.run_job(turn.row, now)
            else:
                self.settle(turn.row, now)

    def run_job(self, row: int, now: int) -> None:
        """RunJob: rule 3."""
        self.ready.setdefault(row, now)
        other, mate = self.mates[row]
        queued = other.cluster.state(mate) is JobState.QUEUED
        if not queued:
            other.wanted.add(mate)
        if queued and other.cluster.try_start(mate, now, 0):
            self.cluster.start(row, now)
            return
        if queued and mate in other.ready:
            self.settle(row, now)
        if self.cluster.state(row) is JobState.READY:
            self.cluster.pass_over(row, now, 1.0)
            self.yields.setdefault(row, set()).add(now)

    def settle(self, row: int, now: int) -> None:
        """Rule 4."""
        other, mate = self.mates[row]
        if not (self.slots and other.slots):
            return
        slot, at = self.cluster.slot(row), self.cluster.quote(row, now, now)
        for _ in range(ROUNDS):
            if at is None or (slot is not None and at >= slot):
                return
            answer = other.cluster.quote(mate, at, now)
            if answer is None or (slot is not None and answer >= slot):
                return
            if answer == at:
                assert self.cluster.book(row, at, now)
                assert other.cluster.book(mate, at, now)
                if at == now:
                    self.start_both(row, now)
                return
            at = self.cluster.quote(row, answer, now)

    def start_both(self, row: int, now: int) -> None:
        """The slot has come."""
        other, mate = self.mates[row]
        assert self.cluster.state(row) is JobState.READY or self.cluster.claim(row, now)
        assert other.cluster.claim(mate, now)
        self.cluster.start(row, now)
        other.cluster.start(mate, now)


def run_pairs(domains, pairs):
    """Job -> (first ready, start, yields), as `simulate` tells it."""
    sides = {domain.name: Side(domain) for domain in domains}
    row_of = {(name, int(job)): row for name, side in sides.items() for row, job in enumerate(side.work.job_id)}
    for one, other in pairs:
        for mine, its in ((one, other), (other, one)):
            sides[mine[0]].mates[row_of[mine]] = sides[its[0]], row_of[its]
            sides[mine[0]].tables.jobs["paired"][row_of[mine]] = 1
    while instants := [t for side in sides.values() for t in side.instants()]:
        _step(list(sides.values()), min(instants))
    return {name: _outcome(sides[name[0]], row) for name, row in row_of.items()}


def _step(sides: list[Side], now: int) -> None:
    """One instant, phase by phase."""
    for phase in (Side.end_jobs, Side.start_due, Side.submit):
        for side in sides:
            phase(side, now)
    while any(side.tables.domains["changed"][0] for side in sides):
        for side in sides:
            side.iterate(now)


def _outcome(side: Side, row: int) -> tuple[int | None, int | None, int]:
    start = int(side.tables.jobs["start"][row])
    started = start if start >= 0 else None
    return side.ready.get(row, started), started, len(side.yields.get(row, ()))
