"""What schedulers need not say by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cosched.core.allocation import Table
from cosched.core.protocol import JobId
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.run_times import RunTimes
from cosched.core.scheduling.scheduler import ClusterJob, Meeting, Order
from cosched.core.scheduling.site_tables import SiteTables

FIRST_ROWS = 256
SPARE = 8  # times as many rows as jobs: so many are given back


def room(jobs: int = 0) -> int:
    """Return how many rows a table gets that has these jobs, so that as many more can come."""
    return max(FIRST_ROWS, 2 * jobs)


def is_sparse(rows: int, jobs: int) -> bool:
    """Return whether most rows of a table are of jobs that have left, so that it should be made anew."""
    return rows > max(FIRST_ROWS, SPARE * jobs)


class SchedulerBase:
    """See `OpenScheduler`. One with iterations of its own holds an `OpenIteration`, which has the instant."""

    capabilities = Capabilities()
    keeps: frozenset[str] = frozenset()  # the names in `ClusterJob.kept` of its jobs
    run_times: RunTimes | None = None
    site_tables: SiteTables = MappingProxyType({})
    meeting: Meeting | None = None
    nodes: int
    now = 0  # the instant, in s
    changed = False  # an iteration is due; a scheduler's tables may say this, and what is awaited
    iteration: OpenIteration

    @property
    def awaited(self) -> JobId | None:
        """The job for whose answer the open iteration waits; None: for no answer."""
        return self.iteration.offered

    def enter(self, now: int) -> None:
        if now != self.now and self.awaited is not None:
            self.iteration.prolong(self.now, now)
        self.now = now

    def next_event(self, now: int) -> int | None:
        return self.iteration.next_event(now) if self.iteration.yielded_at == now else None

    def reschedule(self, job: JobId | None = None) -> None:  # noqa: ARG002
        """Run an iteration; an answer that is awaited comes late."""
        self.iteration.reschedule()

    def take_orders(self) -> Sequence[Order]:
        """Return none: there is nobody to tell."""
        return ()

    def take_changed(self) -> Sequence[JobId]:
        return self.iteration.take_changed() if self.iteration.have_changed else []

    def fits(self, nodes: int) -> bool:
        """Return whether a job of this size can run at all."""
        return nodes <= self.nodes

    def rounded(self, nodes: int) -> int:
        """Return the nodes that a job of this size takes; ValueError if it is larger than the machine."""
        if nodes > self.nodes:
            raise ValueError(f"{nodes} nodes wanted, the machine has {self.nodes}")
        return nodes

    def check(self, job: ClusterJob) -> None:
        """See OpenScheduler: any job can run that fits."""

    def predict(self, job: JobId, table: Table, now: int) -> None:  # noqa: ARG002
        raise ValueError("the scheduler of this domain does not count the work of jobs")

    def lag(self) -> None:
        """See OpenScheduler: it takes no nodes from jobs that run on."""

    def uses(self, job: JobId, nodes: int) -> None:
        """See OpenScheduler."""

    def kept_free(self) -> int:
        return 0

    def learn(self, job: JobId, seconds: int) -> None:
        """See OpenScheduler: it expects what jobs ask for."""

    def takes_up(self, job: ClusterJob) -> bool:
        """See OpenScheduler: it knows all that was kept."""
        return job.kept.keys() <= self.keeps

    def pushed(self, job: JobId) -> int | None:  # noqa: ARG002
        return None

    def kept_of_domain(self) -> Mapping[str, Any]:
        return {}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """See OpenScheduler."""

    def in_order(self, now: int) -> Sequence[JobId]:  # noqa: ARG002
        return ()

    def counts(self) -> Mapping[str, Any]:
        return {}
