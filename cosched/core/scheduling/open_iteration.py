"""An iteration that waits for the answer about a ready job (coscheduling.md, RunJob), whatever the scheduler.

If anything else changes meanwhile, it is given up and another begins; its job keeps its nodes. The instant of an
iteration lasts as long as that is open: yields and releases hold on. An answer that comes late, and is a yield, makes
another iteration due, in which those that have yielded before are passed over, too: otherwise slow answers that are all
yields would loop for ever.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.base import SchedulerBase
from cosched.core.scheduling.primitives.codes import NONE


class OpenIteration(SchedulerBase, ABC):
    """What all schedulers whose jobs come and go have in common. A scheduler calls its parts, and says the rest."""

    nodes: int

    def __init__(self) -> None:
        self._now = 0
        self._changed = False  # an iteration is due
        self._offered: JobId | None = None  # for whose answer the open iteration waits
        self._since = FOREVER  # when the last iteration began that was due to more than a late yield
        self._late_yield = False  # nothing else has made the next iteration due
        self._yielded_at = NONE  # the last instant at which a job did, as far as is known
        self._iterations = 0
        self._kept: dict[JobId, int] = {}  # jobs made ready by `try_ready`, and how many iterations there were before
        self._have_changed: dict[JobId, None] = {}  # see `take_changed`; in order

    # What a scheduler says; its tables may have the first two

    @property
    def awaited(self) -> JobId | None:
        """The job for whose answer the open iteration waits; None: for no answer."""
        return self._offered

    @property
    def changed(self) -> bool:
        """Whether an iteration is due."""
        return self._changed

    @changed.setter
    def changed(self, due: bool) -> None:
        self._changed = due

    @abstractmethod
    def __contains__(self, job: JobId) -> bool: ...

    @abstractmethod
    def _abandon(self) -> None:
        """Give up the open iteration; its job keeps its nodes."""

    @abstractmethod
    def _count_as_of(self, since: int, now: int) -> None:
        """Yields and releases from the instant `since` on count as of `now`."""

    @abstractmethod
    def _passes_over(self, now: int) -> bool:
        """Return whether some queued job has yielded at this instant."""

    @property
    def now(self) -> int:
        """The instant, in s."""
        return self._now

    # Iterations

    def _begin(self, now: int) -> None:
        """An iteration begins."""
        if not self._late_yield:
            self._since = now
        self._late_yield = False
        self._iterations += 1

    def enter(self, now: int) -> None:
        """See OpenScheduler."""
        if now != self._now and self.awaited is not None:
            self._prolong(self._now, now)
        self._now = now

    def _prolong(self, since: int, now: int) -> None:
        self._count_as_of(since, now)
        if self._yielded_at >= since:
            self._yielded_at = now

    def next_event(self, now: int) -> int | None:
        """The next instant, if an iteration is due that would pass over jobs, because they have yielded at this one."""
        return now + 1 if self._yielded_at == now and self.changed and self._passes_over(now) else None

    def reschedule(self, job: JobId | None = None) -> None:  # noqa: ARG002
        """Run an iteration; an answer that is awaited comes late."""
        self._interrupt()
        self.changed = True

    def _interrupt(self) -> None:
        """Something else than an answer happens."""
        if self.awaited is not None:
            self._abandon()
            self.changed = True

    def _answer(self, job: JobId) -> None:
        """The answer about this job has come. If its iteration does not wait for that, another one follows."""
        if job == self._offered:
            self._offered = None
        else:
            self.reschedule()

    def _yielded(self, now: int, *, late: bool, alone: bool) -> None:
        """A job has yielded: `late`, though no iteration waited for it; `alone`: and nothing else had changed."""
        self._yielded_at = now
        if late and alone:
            self._late_yield = True
            self._prolong(self._since, now)

    # Jobs whose nodes are kept while their groups are asked

    def _keep(self, job: JobId, *, changed: bool) -> None:
        """A job was made ready by `try_ready`; `changed`: whether an iteration was due before."""
        self._interrupt()
        self.changed = changed
        self._kept[job] = self._iterations

    def _take_up(self, job: JobId, state: JobState) -> None:
        """After a restart nobody knows what a ready job has kept from others: if it gives that back, they come next."""
        if state is JobState.READY:
            self._kept[job] = NONE

    def _missed(self, job: JobId) -> bool:
        """The nodes that were kept for this job are given back. Whether an iteration has run meanwhile."""
        missed = self._kept.pop(job, self._iterations) != self._iterations
        self._interrupt()
        return missed

    # Nobody else schedules

    def take_orders(self) -> tuple[()]:
        """There is nobody to tell."""
        return ()

    def take_changed(self) -> Sequence[JobId]:
        """See OpenScheduler: a scheduler notes such jobs in `_have_changed`."""
        changed, self._have_changed = self._have_changed, {}
        return [job for job in changed if job in self] if changed else []

    def fits(self, nodes: int) -> bool:
        """Return whether a job of this size can run at all."""
        return nodes <= self.nodes

    def rounded(self, nodes: int) -> int:
        """Return the nodes that a job of this size takes; ValueError if it is larger than the machine."""
        if nodes > self.nodes:
            raise ValueError(f"{nodes} nodes wanted, the machine has {self.nodes}")
        return nodes
