"""A policy domain of a replay whose rules of coscheduling hear of jobs with mates only, as in the compiled world.

Any other job starts as soon as the scheduler has chosen it, which is what the rules would say of it. Asking them takes
more time than all else where few jobs have mates.
"""

from __future__ import annotations

from collections.abc import Callable

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Start
from cosched.core.events import Event, MayBeEarlier, Ready, Requeued
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling import nonsense
from cosched.core.scheduling.scheduler import OpenScheduler


class MatesOnly(PolicyDomain):
    """One domain. Jobs without mates need not be `Submitted` to it if only its scheduler does anything to them."""

    def __init__(
        self, coscheduler: Coscheduler, scheduler: OpenScheduler, asks_in_vain: Callable[[JobId], bool]
    ) -> None:
        """`asks_in_vain`: whether a ready job yields without asking, which it does then."""
        super().__init__(coscheduler, scheduler)
        self._asks_in_vain = asks_in_vain
        self._began: dict[JobId, int] = {}  # when each running job that the rules do not know has begun its last run

    def began(self, job: JobId) -> int:
        """Return when this job, which runs, has begun its last run."""
        known = self.coscheduler.jobs.get(job)
        began = self._began[job] if known is None else known.started_at
        assert began is not None
        return began

    def state(self, job: JobId) -> JobState:
        """Return the state of a job that the rules do not know, and that has not ended."""
        return JobState.RUNNING if job in self._began else JobState.QUEUED

    def _given(
        self, ready: Ready | MayBeEarlier | None, now: int, changes: list[Change]
    ) -> Ready | MayBeEarlier | None:
        while type(ready) is Ready:
            if ready.job not in self.coscheduler.jobs:
                self._start_alone(ready.job, now, changes)
            elif self._asks_in_vain(ready.job):
                self.yield_again(ready.job, now)
            else:
                break
            ready = self.scheduler.next(now)
        return super()._given(ready, now, changes)

    def _start_alone(self, job: JobId, now: int, changes: list[Change]) -> None:
        if self._elastic is not None:
            self._take_events(self._elastic, now, changes)
        self._began[job] = now
        allocation = nonsense.allocation("start", job, self.scheduler.start(job, now))
        if self._elastic is not None:
            self._take_events(self._elastic, now, changes)
        changes.append(Start(job, None, allocation))

    def _tell(self, event: Event, now: int, left: list[Change]) -> None:
        if isinstance(event, Requeued) and event.job not in self.coscheduler.jobs:
            del self._began[event.job]
            self.scheduler.reschedule(event.job)
        else:
            super()._tell(event, now, left)
