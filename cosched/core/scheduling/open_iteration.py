"""An iteration that waits for the answer about a ready job (coscheduling.md, RunJob), whatever the scheduler.

If anything else changes meanwhile, it is given up and another begins; its job keeps its nodes. The instant of an
iteration lasts as long as that is open: yields and releases hold on. An answer that comes late, and is a yield, makes
another iteration due, in which those that have yielded before are passed over, too: otherwise slow answers that are all
yields would loop for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Protocol

from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.scheduler import ClusterJob


class Iterating(Protocol):
    """What an open iteration asks of the scheduler that holds it."""

    changed: bool  # an iteration is due

    @property
    def awaited(self) -> JobId | None:
        """The job for whose answer the open iteration waits; None: for no answer."""

    def __contains__(self, job: JobId) -> bool: ...

    def abandon(self) -> None:
        """Give up the open iteration; its job keeps its nodes."""


class Marked(Protocol):
    """What it asks of the jobs: when they have yielded and were released."""

    def count_as_of(self, since: int, now: int) -> None:
        """Yields and releases from the instant `since` on count as of `now`."""

    def passes_over(self, now: int) -> bool:
        """Return whether some queued job has yielded at this instant."""


class OpenIteration:
    """Whether an iteration is due, and what an open one waits for: a part that a scheduler holds."""

    def __init__(self, scheduler: Iterating, jobs: Marked) -> None:
        self._scheduler, self._jobs = scheduler, jobs
        self.offered: JobId | None = None  # for whose answer the open iteration waits; a scheduler's tables may say it
        self._since = FOREVER  # when the last iteration began that was due to more than a late yield
        self._late_yield = False  # nothing else has made the next iteration due
        self.yielded_at = NONE  # the last instant at which a job did, as far as is known
        self._iterations = 0
        self.kept: dict[JobId, int] = {}  # jobs made ready by `try_ready`, and how many iterations there were before
        self.have_changed: dict[JobId, None] = {}  # see `note`; in order
        self._ask_again: set[JobId] = set()  # jobs that held, and are ready again, or are so at their slots

    def copy(self, scheduler: Iterating, jobs: Marked) -> OpenIteration:
        """Return the same once more, for a copy of the scheduler."""
        other = copy(self)
        other._scheduler, other._jobs, other.kept, other.have_changed = scheduler, jobs, dict(self.kept), {}
        other._ask_again = set(self._ask_again)
        return other

    def begin(self, now: int) -> None:
        """Note that an iteration begins."""
        if not self._late_yield:
            self._since = now
        self._late_yield = False
        self._iterations += 1

    def next_event(self, now: int) -> int | None:
        """The next instant, if an iteration is due that would pass over jobs, because they have yielded at this one."""
        return now + 1 if self._scheduler.changed and self._jobs.passes_over(now) else None

    def prolong(self, since: int, now: int) -> None:
        """Let the instant `since` last until `now`."""
        self._jobs.count_as_of(since, now)
        if self.yielded_at >= since:
            self.yielded_at = now

    def reschedule(self) -> None:
        """Run an iteration; an answer that is awaited comes late."""
        self.interrupt()
        self._scheduler.changed = True

    def interrupt(self) -> None:
        """Note that something else than an answer happens."""
        if self._scheduler.awaited is not None:
            self._scheduler.abandon()
            self._scheduler.changed = True

    def change_beside(self, job: JobId) -> None:
        """Note that an iteration is due, for which one that waits for this job's answer goes on."""
        if self.offered != job:
            self.interrupt()
        self._scheduler.changed = True

    def answer(self, job: JobId) -> None:
        """The answer about this job has come. If its iteration does not wait for that, another one follows."""
        self._ask_again.discard(job)
        if job == self.offered:
            self.offered = None
        else:
            self.reschedule()

    def ask_again(self, job: JobId) -> None:
        """Note that a job is ready again that holds, or is ready at its slot: no iteration waits for its answer."""
        self._ask_again.add(job)

    def forget(self, job: JobId) -> None:
        """Note that the job asks no more."""
        self._ask_again.discard(job)

    def is_late(self, job: JobId) -> bool:
        """Return whether the iteration that waited for this answer was given up; a job that held has kept up none."""
        return job != self._scheduler.awaited and job not in self._ask_again

    def yielded(self, now: int, *, late: bool, alone: bool) -> None:
        """Note that a job has yielded. `late`: see `is_late`; `alone`: nothing else had changed."""
        self.yielded_at = now
        if late and alone:
            self._late_yield = True
            self.prolong(self._since, now)

    # Jobs whose nodes are kept while their groups are asked

    def keep(self, job: JobId, *, changed: bool) -> None:
        """Note that a job was made ready by `try_ready`; `changed`: whether an iteration was due before."""
        self.interrupt()
        self._scheduler.changed = changed
        self.kept[job] = self._iterations

    def take_up(self, job: ClusterJob) -> None:
        """After a restart nobody knows what a ready job has kept from others: if it gives that back, they come next."""
        if job.state is JobState.READY:
            self.kept[job.id] = NONE
        if job.passed_over > self.yielded_at + 1:
            self.yielded_at = job.passed_over - 1

    def missed(self, job: JobId) -> bool:
        """Note that this job gives back the nodes kept for it; return whether an iteration has run meanwhile."""
        missed = self.kept.pop(job, self._iterations) != self._iterations
        self.interrupt()
        return missed

    def note(self, job: JobId) -> None:
        """Note that what is kept of a job has changed."""
        self.have_changed[job] = None

    def take_changed(self) -> Sequence[JobId]:
        """See OpenScheduler."""
        changed, self.have_changed = self.have_changed, {}
        return [job for job in changed if job in self._scheduler]
