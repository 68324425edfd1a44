"""What peers ask of the jobs of this domain (Tang et al., Algorithm 1, from the other side), and the answers.

A peer's mutating call is carried out once: a retry gets the first answer, a late copy of an earlier call nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from cosched.core.coscheduling.allocations import (
    CANCELLED,
    COMPLETED,
    FAILED,
    HOLDING,
    PENDING,
    QUEUED,
    READY,
    RUNNING,
    IllegalEvent,
    LocalJobs,
)
from cosched.core.coscheduling.mates import PairedJob, no_pair
from cosched.core.effects import Answer, Effect, Try
from cosched.core.events import Tried
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    GetMateJobId,
    GetMateStatus,
    JobId,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    Reply,
    Request,
    StartJob,
    Status,
    TryStartMate,
    call_number,
)
from cosched.core.settings import CoschedulingSettings

STATUS: dict[JobState, Status] = {
    PENDING: Status.UNSUBMITTED,
    QUEUED: Status.QUEUING,
    READY: Status.HOLDING,  # it has nodes and waits, if only for its own RunJob
    HOLDING: Status.HOLDING,
    RUNNING: Status.RUNNING,
    COMPLETED: Status.ENDED,
    FAILED: Status.FAILED,
    CANCELLED: Status.CANCELLED,
}
UNKNOWN = MateStatus(Status.UNKNOWN, 0, None)
NO = MateTried(False)
TOO_LATE = MateStarted(False)


class AskedJobs(LocalJobs):
    """The paired jobs of one policy domain, as peers may ask for them."""

    def __init__(
        self,
        domain: Domain,
        nodes: int,
        settings: CoschedulingSettings,
        *,
        owners: Mapping[tuple[Domain, str], str] | None = None,
        story: bool = True,
    ) -> None:
        super().__init__(domain, nodes, settings, owners=owners, story=story)
        self._asking: dict[JobId, tuple[Domain, TryStartMate]] = {}  # whom the outcome of a Try is told
        self._last: dict[tuple[Domain, JobId], tuple[str, Reply]] = {}  # the last call and answer by calling job

    def _asked(self, peer: Domain, request: Request, now: int) -> list[Effect]:
        if type(request) is GetMateJobId:
            return self._asked_for_mate(peer, request)
        if type(request) is GetMateStatus:
            return [Answer(peer, request, self.mate_status(peer, request))]
        return self._asked_to_start(peer, cast("TryStartMate | StartJob", request), now)

    def _asked_for_mate(self, peer: Domain, request: GetMateJobId) -> list[Effect]:
        settled = self.mates.settled
        answer = self.mate_job_id(peer, request)
        if self.mates.settled == settled:
            return [Answer(peer, request, answer)]
        job = self.mates.jobs[cast(JobId, answer.job)]
        return [*self._note(job, "is linked", mate=job.mate, peer=peer), Answer(peer, request, answer)]

    def mate_job_id(self, peer: Domain, request: GetMateJobId) -> MateJobId:
        """Answer GetMateJobId; a job here that names no id yet takes the caller's."""
        return self.mates.answer(peer, request) if self.settings.enabled else no_pair(MateProblem.OFF)

    def mate_status(self, peer: Domain, request: GetMateStatus) -> MateStatus:
        """Answer GetMateStatus; UNKNOWN for any job that is not the caller's mate."""
        if not self.mates.is_mate(peer, request.caller, request.job):
            return UNKNOWN
        job = self.mates.jobs[request.job]
        if job.state is READY:
            job.disclosed = True
        return MateStatus(STATUS[job.state], job.generation + (job.state is READY), job.started_at)

    def _asked_to_start(self, peer: Domain, request: TryStartMate | StartJob, now: int) -> list[Effect]:
        last_id, last_answer = self._last.get((peer, request.caller), ("", NO))
        if last_id == request.request_id:
            return [Answer(peer, request, last_answer)]
        superseded = call_number(request.request_id) < call_number(last_id)
        if superseded or not self.mates.is_mate(peer, request.caller, request.job):
            return [Answer(peer, request, NO if type(request) is TryStartMate else TOO_LATE)]
        job = self.mates.jobs[request.job]
        if job.state is QUEUED and type(request) is TryStartMate and self.settled_by is None:
            tried_already = job.id in self._asking  # a retry, while the local scheduler still tries
            self._asking[job.id] = peer, request
            return [] if tried_already else [Try(job.id, request.hold_until, request.start_at)]
        if self._may_start(job, request):
            started = self._start(job, now, f"asked by {peer}", request.start_at)
            return self._reply(job, peer, request, True, started, request.start_at)
        return self._reply(job, peer, request, job.state in (RUNNING, COMPLETED), [])

    @staticmethod
    def _may_start(job: PairedJob, request: TryStartMate | StartJob) -> bool:
        """Whether the job has nodes, and (StartJob) those of the hold that was meant."""
        if type(request) is StartJob:
            generation = job.generation + (job.state is READY)
            return job.state in (READY, HOLDING) and request.generation == generation
        return job.state in (READY, HOLDING)

    def _tried(self, job: PairedJob, event: Tried, now: int) -> list[Effect]:
        """The local scheduler's answer to TryStartMate; meanwhile the job may have started or ended otherwise."""
        if job.id not in self._asking:
            raise IllegalEvent(f"Tried, but nobody asked for job {job.id}")
        peer, request = self._asking.pop(job.id)
        effects = self._runs(job, now, f"asked by {peer}", event.at) if event.started and job.state is QUEUED else []
        return self._reply(job, peer, request, job.state in (RUNNING, COMPLETED), effects, event.at)

    def _reply(
        self,
        job: PairedJob,
        peer: Domain,
        request: TryStartMate | StartJob,
        yes: bool,
        effects: list[Effect],
        at: float | None = None,
    ) -> list[Effect]:
        """Answer a mutating call, after what it did, and keep the answer for a retry."""
        answer: Reply = MateTried(yes, at) if type(request) is TryStartMate else MateStarted(yes, at)
        self._last[peer, request.caller] = request.request_id, answer
        noted = self._note(job, "answers", request=request.request_id, started=yes)
        return [*noted, *effects, Answer(peer, request, answer)]

    # Answers, kept for retries

    def last_answer(self, peer: Domain, caller: JobId) -> tuple[str, Reply] | None:
        """Id of the last mutating call of the peer's job `caller`, and what it was answered."""
        return self._last.get((peer, caller))

    def recover_answer(self, peer: Domain, caller: JobId, request_id: str, answer: Reply) -> None:
        """Take up what `last_answer` told before a restart."""
        self._last[peer, caller] = request_id, answer

    def forget(self, job: PairedJob) -> None:
        """Drop a job that has ended, and what its mate was answered; both may be recovered later."""
        self.mates.forget(job)
        if job.mate is not None:
            self._last.pop((job.peer, job.mate), None)
