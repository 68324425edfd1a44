"""When the queued jobs of a live domain start, if nobody else comes and every job runs for its requested time.

A copy of the scheduler is played on: what it does is what the scheduler itself would do. Mates are not known here: a
job that has a mate is taken to start as soon as it is ready, or at its slot if it has one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from cosched.core.effects import Claim
from cosched.core.events import Ready
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.batch.open_meeting_cluster import OpenMeetingCluster
from cosched.core.scheduling.primitives.tables import NEVER

MOST = 1000  # jobs of the queue


class Foreseen(NamedTuple):
    """A job that waits, and the instant at which it is expected to start."""

    job: JobId
    at: int


def foresee(cluster: OpenCluster, now: int) -> Iterator[Foreseen]:
    """See `Forecast.starts`."""
    return Forecast(cluster, now).starts()


class Forecast:
    """A copy of a cluster, to be played on; the cluster stays as it is. `order`: that of its queue at `now`.

    Of a long queue only the first MOST jobs are played: an iteration would take too long.
    """

    def __init__(self, cluster: OpenCluster, now: int) -> None:
        self._cluster = cluster.copy()
        self._now = now
        self._ends: list[tuple[int, int, JobId]] = []
        self._slots: list[tuple[int, JobId]] = []
        self._waiting: list[JobId] = []  # they have nodes
        self.order = self._cluster.in_order(now)
        self._cluster.shorten(MOST)
        self._queued = min(MOST, len(self.order))
        for job in self._cluster.with_nodes():
            known = self._cluster.job(job)
            if known.state is not JobState.READY:
                self._ends_at(job, known.expected)
            if known.state is not JobState.RUNNING:
                self._waiting.append(job)
        for job in self.order[:MOST]:
            if (slot := self._cluster.job(job).kept.get("slot")) is not None:
                heapq.heappush(self._slots, (slot, job))

    def starts(self) -> Iterator[Foreseen]:
        """Yield the expected starts of jobs that wait, in order; a job that has nodes and waits for its mate: now.

        A job that never starts, since nodes are held without limit, is not among them.
        """
        self._cluster.enter(self._now)
        for job in self._waiting:
            if self._cluster.job(job).state is JobState.READY:
                self._start(job)
            yield Foreseen(job, self._now)
        while True:
            for job in [*self._claimed(), *self._ready()]:
                self._queued -= 1
                yield Foreseen(job, self._now)
            if not self._queued or not self._go_on():
                return

    def _claimed(self) -> Iterator[JobId]:
        """Start the jobs whose slots have come; one that cannot start waits for its turn."""
        while self._slots and self._slots[0][0] <= self._now:
            _, job = heapq.heappop(self._slots)
            cluster = self._cluster
            if cluster.job(job).state is not JobState.QUEUED or not isinstance(cluster, OpenMeetingCluster):
                continue
            if cluster.claim(Claim(job), self._now).allocation is not None:
                self._start(job)
                yield job
            else:
                cluster.unbook(job, self._now)

    def _ready(self) -> Iterator[JobId]:
        while (turn := self._cluster.next(self._now)) is not None:
            if isinstance(turn, Ready) and self._cluster.job(turn.job).kept.get("slot", self._now) > self._now:
                self._cluster.pass_over(turn.job, self._now, 1.0)
            elif isinstance(turn, Ready):
                self._start(turn.job)
                yield turn.job
            elif isinstance(self._cluster, OpenMeetingCluster):
                self._cluster.end_turn(turn.job)

    def _start(self, job: JobId) -> None:
        self._cluster.start(job, self._now)
        self._ends_at(job, self._now + self._cluster.job(job).requested)

    def _ends_at(self, job: JobId, end: int) -> None:
        if end < NEVER:
            heapq.heappush(self._ends, (end, len(self._ends), job))

    def _go_on(self) -> bool:
        """Go to the next instant at which a job ends or a slot comes; False: there is none."""
        instants = [queue[0][0] for queue in (self._ends, self._slots) if queue]
        if not instants:
            return False
        self._now = max(self._now, min(instants))
        self._cluster.enter(self._now)
        while self._ends and self._ends[0][0] <= self._now:
            self._cluster.leave(heapq.heappop(self._ends)[-1], self._now, JobState.COMPLETED)
        return True
