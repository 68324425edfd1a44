"""The compiled domain behind the calls of `slow.SlowDomain`, which explains them."""

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
from tests.core.meeting.slow import Job, Turn


class FastDomain:
    """One domain of the tables, whose jobs end when they are told to."""

    def __init__(self, nodes: int, units: bool, backfill: str, budget: str, jobs: list[Job]) -> None:
        partitions = Partitions(nodes, 1) if units else None
        settings = ClusterSettings(
            nodes, parse_ordering("fcfs"), BACKFILLING[backfill], partitions, mate_budget=Decimal(budget), slots=True
        )
        self.tables = tables = new_tables([len(jobs)], [nodes if units else 0])
        for name in ("submit", "nodes", "requested", "run", "paired"):
            tables.jobs[name] = [getattr(job, name) for job in jobs]
        self.cluster = cluster = MeetingCluster(tables, 0, settings)
        self.book, self.unbook, self.claim = cluster.book, cluster.unbook, cluster.claim
        self.run_job, self.keep_in_turn = cluster.start, cluster.keep_in_turn

    def iterate(self, now: int, turn: Turn) -> None:
        while (found := self.cluster.meet(now)) is not None:
            turn(found.row, int(self.tables.jobs[found.row]["block"]) if found.ready else None)

    def try_start(self, row: int, now: int) -> bool:
        return self.cluster.try_start(row, now, 0)

    def quote(self, row: int, not_before: int, now: int) -> tuple[int, int] | None:
        at = self.cluster.quote(row, not_before, now)
        return None if at is None else (at, int(self.tables.domains[0]["quoted_block"]))

    def pushes(self, row: int, now: int, *, tried: bool = False) -> int | None:
        """By how many seconds the job, which is ready or was found just now, pushes the first; None: in its turn."""
        return self.cluster.pushes(row, now, tried=tried)

    def submit(self, row: int) -> None:
        ordering.enqueue(self.tables, 0, row)

    def end(self, row: int, now: int) -> None:
        self.cluster.finish(row, now, JobState.COMPLETED)

    def pass_over(self, row: int, now: int) -> None:
        self.cluster.pass_over(row, now, 1.0)

    def running(self) -> dict[int, tuple[int, int]]:
        jobs = self.tables.jobs
        rows = np.flatnonzero(jobs["state"] == JobState.RUNNING)
        return {int(row): (int(jobs[row]["start"]), int(jobs[row]["block"])) for row in rows}

    def slot(self, row: int) -> tuple[int, int] | None:
        at = self.cluster.slot(row)
        return None if at is None else (at, int(self.tables.slots[row]["block"]))


def meet_once() -> None:
    """Use all kernels of a domain that meets."""
    domain = FastDomain(2, False, "easy", "0.5", [Job(0, 0, 1, 1, 1, paired=True)])
    domain.submit(0)
    domain.iterate(0, lambda row, _: domain.pass_over(row, 0))
    domain.pushes(0, 0)
    domain.try_start(0, 1)
    domain.end(0, 2)
