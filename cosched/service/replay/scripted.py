"""What a script does to jobs of a replay in lock-step, as it is done in a simulation (`cosched_sim.what_if`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.events import Linked, Requeued, Unlinked
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import EndedBy, JobId
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.replay.submissions import Submissions
from cosched.service.wire.fields import FieldError
from cosched.v1 import replay_pb2 as wire
from cosched_adapters.launcher import PlayingLauncher

CANCELS: Mapping[int, EndedBy] = {
    wire.JOB_CHANGE_CANCELLED: EndedBy.OWNER,
    wire.JOB_CHANGE_CANCELLED_FOR_GOOD: EndedBy.OWNER_FOR_GOOD,
}


@dataclass(frozen=True, slots=True)
class ScriptedChanges:
    """Changes of jobs that are not in the trace. Each says whether it could be done; else it has changed nothing."""

    _domain: LiveDomain
    _manager: PlayingLauncher
    _submissions: Submissions
    _settled: Callable[[], Awaitable[None]]  # waits for all that follows from the last turn

    async def carry_out(self, change: int, number: int, by: int) -> bool:
        """Change a job, known by its number; `by`: the number of one that takes its place. FieldError, Refusal."""
        job = self._checked("number", number)
        if change in CANCELS:
            return await self._cancel(job, CANCELS[change])
        if change == wire.JOB_CHANGE_REPLACED:
            return await self._replace(job, self._checked("by", by))
        changes: Mapping[int, Callable[[JobId], bool]] = {
            wire.JOB_CHANGE_FAILED: self.fail,
            wire.JOB_CHANGE_REQUEUED: self._requeue,
            wire.JOB_CHANGE_UNLINKED: self._unlink,
        }
        if change not in changes:
            raise FieldError("change", "is not one that is known here")
        with self._domain.turns.take():
            return changes[change](job)

    def _checked(self, field: str, number: int) -> JobId:
        if not self._submissions.is_known(number):
            raise FieldError(field, "is not the number of a job of the trace")
        return str(number)

    def _known(self, job: JobId) -> PairedJob | None:
        return self._domain.core.jobs.get(job)

    def _runs(self, job: JobId) -> bool:
        return (known := self._known(job)) is not None and known.state is JobState.RUNNING

    async def _cancel(self, job: JobId, by: EndedBy) -> bool:
        if self._known(job) is None:  # its mates learn of it first
            with self._domain.turns.take():
                self._submissions.admit(job)
            await self._settled()
        if self._domain.core.jobs[job].state.final:
            return False
        with self._domain.turns.take():
            if job not in self._domain.scheduler:
                self._domain.scheduler.reschedule()
            self._end(job, JobState.CANCELLED, by)
        return True

    def fail(self, job: JobId) -> bool:
        """Have a job fail, if it runs; only in a turn."""
        if not self._runs(job):
            return False
        self._end(job, JobState.FAILED)
        return True

    def _end(self, job: JobId, how: JobState, by: EndedBy = EndedBy.OWNER) -> None:
        self._domain.end(job, how, by=by)
        self._manager.stop(job, completed=False)

    def _requeue(self, job: JobId) -> bool:
        """Its manager hears what it hears when a job is preempted, but the rules hear that it begins anew."""
        if not self._runs(job):
            return False
        self._manager.begins_anew(job)
        self._domain.queue_again(self._domain.jobs[job])
        self._domain.decisions.do([Requeued(job)])
        self._submissions.count_paired(job)
        return True

    def _unlink(self, job: JobId) -> bool:
        known = self._known(job)
        if known is None or known.state not in WAITING or known.group is None:
            return False
        self._domain.decisions.feed(Unlinked(job))
        return True

    async def _replace(self, job: JobId, new: JobId) -> bool:
        before, known = self._known(job), self._known(new)
        if (before is not None and before.runs) or (known is not None and known.state not in WAITING):
            return False
        await self._cancel(job, EndedBy.OWNER)
        await self._settled()
        named = self._submissions.replace(job, new)
        if known is not None:
            with self._domain.turns.take():
                self._domain.decisions.feed(Linked(new, named))
                self._submissions.count_paired(new)
        return True
