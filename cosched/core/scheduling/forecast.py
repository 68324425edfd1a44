"""When the queued jobs of a live domain start, if nobody else comes and every job runs for its requested time.

A copy of the scheduler is played on: what it does is what the scheduler itself would do. Mates are not known here: a
job that has a mate is taken to start as soon as it is ready, or at its slot if it has one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self

from cosched.core.effects import Claim
from cosched.core.events import Ready
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler, planning

MOST = 1000  # jobs of the queue


class Foreseen(NamedTuple):
    """A job that waits, and the instant at which it is expected to start, on so many nodes; 0: it has them."""

    job: JobId
    at: int
    nodes: int = 0


class Playable(OpenScheduler, Protocol):
    """A scheduler whose copy can be played on: then starts are `estimates` (Capabilities)."""

    def copy(self) -> Self:
        """The same nodes and jobs once more, to be played on; an iteration that is open here begins anew there."""

    def with_nodes(self) -> list[JobId]:
        """Return the jobs that have nodes, in the order in which they were submitted."""

    def shorten(self, most: int) -> None:
        """Forget all but the first jobs of the queue, as `in_order` has put them; of a `copy` only."""


def foresee_with(cluster: Playable, job: ClusterJob, now: int) -> Forecast:
    """Return the forecast of what comes if this job is submitted now; the cluster stays as it is."""
    trial = cluster.copy()
    trial.enter(now)
    trial.submit(job)
    return Forecast(trial, now)


class Forecast:
    """A copy of a cluster, to be played on; the cluster stays as it is. `order`: that of its queue at `now`.

    `played` is the copy. Of a long queue only the first MOST jobs are played: an iteration would take too long.
    """

    def __init__(self, cluster: Playable, now: int) -> None:
        self.played = self._cluster = cluster.copy()
        self._meets = planning(self._cluster)
        self._now = now
        self._ends: list[tuple[int, int, JobId]] = []
        self._slots: list[tuple[int, JobId]] = []
        self._waiting: list[JobId] = []  # they have nodes
        self._cluster.enter(now)
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
        for job in self._waiting:
            if self._cluster.job(job).state is JobState.READY:
                self._start(job)
            yield Foreseen(job, self._now)
        while True:
            for foreseen in [*self._claimed(), *self._ready()]:
                self._queued -= 1
                yield foreseen
            if not self._queued or not self._go_on():
                return

    def _claimed(self) -> Iterator[Foreseen]:
        """Start the jobs whose slots have come; one that cannot start waits for its turn."""
        while self._slots and self._slots[0][0] <= self._now:
            _, job = heapq.heappop(self._slots)
            if self._meets is None or self._cluster.job(job).state is not JobState.QUEUED:
                continue
            claimed = self._meets.claim(Claim(job), self._now)
            if claimed is not None and claimed.allocation is not None:
                yield self._start(job)
            else:
                self._meets.unbook(job, self._now)

    def _ready(self) -> Iterator[Foreseen]:
        while (turn := self._cluster.next(self._now)) is not None:
            if isinstance(turn, Ready) and self._cluster.job(turn.job).kept.get("slot", self._now) > self._now:
                self._cluster.pass_over(turn.job, self._now, 1.0)
            elif isinstance(turn, Ready):
                yield self._start(turn.job)
            elif self._meets is not None:
                self._meets.end_turn(turn.job)

    def _start(self, job: JobId) -> Foreseen:
        allocation = self._cluster.start(job, self._now)
        self._ends_at(job, allocation.expected)
        return Foreseen(job, self._now, allocation.nodes)

    def _ends_at(self, job: JobId, end: int) -> None:
        if end < FOREVER:
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
