"""Algorithm 1 (Tang et al., IV-C) and its enhancements (IV-E) as a state machine: events in, effects out.

How it works. `Coscheduler` knows the paired jobs of one policy domain and the rules of coscheduling.md; it does not
know how nodes are managed, nor the time, nor the network. `handle(event, now)` looks up (state of the job, kind of
event) in `TABLE`, carries that transition out, and returns the effects for its shell. An event that has no row
raises `IllegalEvent` and changes nothing. Rules:

* RunJob(j, N) is the event Ready. The job stays READY, its nodes busy, while questions to the mate's domain are
  answered; it leaves READY by Start, Hold or Yield, or because its mate's domain starts it first (crossing calls).
* A started job never asks again: answers that come later are ignored. Starting is idempotent.
* What a READY job does if its mate cannot start (hold or yield) is decided before TryStartMate is sent, since that
  call tells the mate's domain how long the caller will hold.
* A mutating call that timed out has an unknown outcome; it is asked again with its request id until patience ends.
* A peer that is busy is alive: nobody starts alone because of it. One that was there and is away has a grace first.

Here is what our jobs ask; what peers ask of them is in `asked`, what becomes of a job in its own domain (start, hold,
yield, release) in `local`, what they do while peers are away or drain in `patient`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from cosched.core.coscheduling.allocations import (
    AWAY,
    BUSY,
    CANCELLED,
    COMPLETED,
    FAILED,
    HOLDING,
    QUEUED,
    READY,
    RUNNING,
    IllegalEvent,
)
from cosched.core.coscheduling.asking import ALIVE, PEER_EVENTS, PatientJobs
from cosched.core.coscheduling.incoming import STATUS
from cosched.core.coscheduling.mates import PairedJob
from cosched.core.effects import Call, Effect, Reschedule, SetTimer, Timer
from cosched.core.events import (
    Answered,
    Asked,
    CallFailed,
    Event,
    Finished,
    Linked,
    NodesLost,
    PatienceOver,
    Ready,
    ReleaseDue,
    Requeued,
    RetryDue,
    Started,
    Submitted,
    Tried,
    Unlinked,
)
from cosched.core.job import JobState
from cosched.core.protocol import (
    FOREVER,
    Failure,
    Found,
    GetMateStatus,
    JobId,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    Request,
    StartJob,
    Status,
    TryStartMate,
)
from cosched.core.settings import OnMateUnknown, OnUnreachable, Scheme

__all__ = ["REPLIES", "STATUS", "TABLE", "Coscheduler", "IllegalEvent"]

REFUSED = "was refused: misconfigured peer"
NO_SUCH_PAIR = "its mate's domain knows no such pair"
AS_ASKED_FOR = (MateProblem.OFF, MateProblem.UNLINKED)  # somebody there has decided that the job starts alone


class Coscheduler(PatientJobs):
    """Coscheduling in one policy domain.

    `calls_before`: added to the numbers of its calls, so that none is used twice if some are forgotten in a restart.
    """

    calls_before = 0

    def handle(self, event: Event, now: int) -> list[Effect]:
        """Carry out one event at instant `now`; the effects are to be carried out in order."""
        if type(event) is Asked:
            return self._asked(event.peer, event.request, now)
        if type(event) is Submitted:
            return self._submitted(event, now)
        if type(event) in PEER_EVENTS:
            return PEER_EVENTS[type(event)](self, event, now)
        job = self.mates.jobs.get(event.job)  # type: ignore[union-attr]
        if job is None:
            raise IllegalEvent(f"{type(event).__name__} of unknown job {event.job}")  # type: ignore[union-attr]
        if type(event) is Answered:
            if job.call is not event.request and job.call != event.request:
                return []  # the answer to a question that nobody asks any more
            row = self._row(job, type(event.answer))
            return row(self, job, event.answer, now) + self._is_heard_of(job.peer, now)
        return self._row(job, type(event))(self, job, event, now)

    @staticmethod
    def _row(job: PairedJob, kind: type) -> Action:
        try:
            return TABLE[job.state, kind]
        except KeyError:
            raise IllegalEvent(f"{kind.__name__} while job {job.id} is {job.state.name}") from None

    # RunJob(j, N): Algorithm 1

    def _run_job(self, job: PairedJob, event: Ready, now: int) -> list[Effect]:
        job.state = READY
        job.nodes, job.hold_limit, job.disclosed = event.nodes, event.hold_limit, False
        job.cannot_yield = event.cannot_yield
        job.missed = False
        if job.ready_at is None:
            job.ready_at = now
        if not self.settings.enabled:
            return self._start(job, now, "coscheduling is off here")
        if not job.peer:
            return self._start(job, now, "it has no mate")
        if self.settled_by is not None:
            return self._wait(job, now, "Draining")
        if self.expects(job.peer, now):
            return self._wait(job, now, AWAY)
        return self._ask_for_mate(job, now)

    def _mate_id(self, job: PairedJob, answer: MateJobId, now: int) -> list[Effect]:
        if answer.found is Found.MATE:
            mate = cast(JobId, answer.job)
            if job.mate != mate:
                self.mates.settle(job, mate)
            job.problem = ""
            return self._call(job, GetMateStatus(mate, job.id), now)
        if answer.found is Found.NO_PAIR:
            return self._mate_unknown(job, answer.problem, now)
        return self._mate_unsubmitted(job, now)

    def _mate_unknown(self, job: PairedJob, problem: MateProblem | None, now: int) -> list[Effect]:
        """There is no such mate: the paper's job starts; one that need not waits, without nodes if it can."""
        if self.settings.on_mate_unknown is OnMateUnknown.START:
            return self._start(job, now, NO_SUCH_PAIR)
        job.problem = problem or ""
        named: dict[str, Any] = {"problem": job.problem, "peer": job.peer, "pair": job.pair, "mate": job.mate}
        if job.alone:
            return self._start(job, now, "patience ended", **named)
        if job.or_alone or problem in AS_ASKED_FOR:
            return self._start(job, now, NO_SUCH_PAIR, **named)
        return self._wait(job, now, "MateUnknown", Scheme.YIELD, **named)

    def _mate_unsubmitted(self, job: PairedJob, now: int) -> list[Effect]:
        if job.alone:
            return self._start(job, now, "patience ended")
        return self._wait(job, now, "MateUnsubmitted")

    def _mate_status(self, job: PairedJob, answer: MateStatus, now: int) -> list[Effect]:
        status = answer.status
        if status is Status.QUEUING:
            return self._try_mate(job, now)
        if status is Status.HOLDING:
            return self._start_mate(job, answer.generation, now)
        if status is Status.UNSUBMITTED:
            return self._mate_unsubmitted(job, now)
        if status in (Status.RUNNING, Status.ENDED):
            gap = now - answer.started_at if answer.started_at is not None else None
            return self._start(job, now, "its mate started before it: desynchronised", gap_s=gap)
        return self._start(job, now, f"its mate will not run: {status}")

    def _start_mate(self, job: PairedJob, generation: int, now: int) -> list[Effect]:
        request = StartJob(self._request_id(job), cast(JobId, job.mate), job.id, generation)
        return self._note(job, "asks to start its mate", request=request.request_id) + self._call(job, request, now)

    def _mate_started(self, job: PairedJob, answer: MateStarted, now: int) -> list[Effect]:
        if answer.started:
            return self._start(job, now, "its holding mate started", answer.start_at)
        return self._try_mate(job, now)  # that hold has ended: the mate is queuing

    def _try_mate(self, job: PairedJob, now: int) -> list[Effect]:
        job.will_hold = self._may_hold(job, self._scheme(job, now), now)
        until = job.held_until if job.will_hold else 0
        request = TryStartMate(self._request_id(job), cast(JobId, job.mate), job.id, until)
        return self._note(job, "asks to try its mate", request=request.request_id) + self._call(job, request, now)

    def _mate_tried(self, job: PairedJob, answer: MateTried, now: int) -> list[Effect]:
        if answer.started:
            return self._start(job, now, "its mate could start", answer.start_at)
        if job.will_hold and (job.cannot_yield or self._may_still_hold(job, now)):
            return self._hold(job, now, "MateQueuing")
        return self._yield(job, now, "MateQueuing")

    def _may_still_hold(self, job: PairedJob, now: int) -> bool:
        """Others may hold by now, and this domain or its peer may drain."""
        job.held_until = min(job.held_until, self._settling_end)
        return not self._above_cap(job) and self._scheme(job, now) is Scheme.HOLD and job.held_until > now

    # Patience with an unsubmitted mate

    def _patience_over(self, job: PairedJob, _: PatienceOver, now: int) -> list[Effect]:
        job.alone = True
        noted = self._note(job, "waits no longer for an unsubmitted mate")
        if job.state is HOLDING and (job.mate is None or job.problem):  # it may have been submitted since
            return noted + self._ask_for_mate(job, now)
        return [*noted, Reschedule(job.id)]

    def _mate_id_of_holding(self, job: PairedJob, answer: MateJobId, now: int) -> list[Effect]:
        if answer.found is not Found.MATE:
            return self._mate_id(job, answer, now)
        self.mates.settle(job, cast(JobId, answer.job))
        job.call, job.problem = None, ""
        return []

    def _call_of_holding_failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        if job.call != event.request:
            return []
        job.call = None
        if event.failure is Failure.REFUSED:
            return self._note(job, REFUSED, peer=job.peer)
        effects = self._noticed(job, event.failure, now)
        if event.failure in ALIVE or self.expects(job.peer, now):
            job.missed = True
            return effects + self._ask_later(job, now)
        if self.settings.on_peer_unreachable is OnUnreachable.START:
            return effects + self._start_without_peer(job, now)
        return effects

    # Calls that fail

    def _call_failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        if job.call != event.request:
            return []
        if event.failure is Failure.REFUSED:
            return self._note(job, REFUSED, peer=job.peer) + self._wait(job, now, "PeerRefused")
        return self._noticed(job, event.failure, now) + self._unanswered(job, event, now)

    def _noticed(self, job: PairedJob, failure: Failure, now: int) -> list[Effect]:
        """What a failure says about the peer."""
        return self._is_heard_of(job.peer, now) if failure in ALIVE else self._is_missed(job.peer, now)

    def _unanswered(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        mutating, alive = type(event.request) in (TryStartMate, StartJob), event.failure in ALIVE
        job.uncertain = mutating and (job.uncertain or event.failure in (Failure.TIMEOUT, Failure.SLOW))
        waited_for = alive or self.expects(job.peer, now)
        patient = now < job.call_since + self.settings.peer_patience
        if (job.uncertain and (waited_for or patient)) or (alive and patient):
            return [SetTimer(job.id, Timer.RETRY, now + self.settings.retry_interval)]
        if waited_for:
            return self._wait(job, now, BUSY if alive else AWAY) + self._ask_later(job, now)
        return self._peer_unreachable(job, now)

    def _ask_later(self, job: PairedJob, now: int) -> list[Effect]:
        """Of a peer that is alive nobody will tell that it is back: ask again in a while."""
        if job.state is not HOLDING or self.expects(job.peer, now):
            return []
        pause = max(self.settings.peer_patience, self.settings.retry_interval)
        return [SetTimer(job.id, Timer.RETRY, now + pause)]

    def _retry_of_holding(self, job: PairedJob, _: RetryDue, now: int) -> list[Effect]:
        return self._ask_again(job, now) if job.missed else []

    def _retry(self, job: PairedJob, _: RetryDue, now: int) -> list[Effect]:  # noqa: ARG002
        if job.call is None:
            return []
        return [Call(job.peer, job.id, cast(Request, job.call))]

    def _peer_unreachable(self, job: PairedJob, now: int) -> list[Effect]:
        choice = self.settings.on_peer_unreachable
        if choice is OnUnreachable.START:
            return self._start_without_peer(job, now)
        return self._wait(job, now, "PeerUnreachable", Scheme(choice.value))

    def _start_without_peer(self, job: PairedJob, now: int) -> list[Effect]:
        away = self.away_for(job.peer, now)
        return self._start(job, now, "PeerUnreachable", **({} if away is None else {"away_s": away}))

    def _request_id(self, job: PairedJob) -> str:
        job.calls += 1
        return f"{self.domain}/{job.id}/{self.calls_before + job.calls}"

    # Restart and retirement

    def recover(self, job: PairedJob, since: int, now: int) -> list[Effect]:
        """Take a job up as it was recorded, submitted at `since`: its timers are set, its question is asked again.

        Holds keep their release times; one that began without a timer gets one if there is one now. A mutating call may
        have been carried out before the restart, so its outcome is unknown.
        """
        self.mates.restore(job)
        if job.state.final:
            return []
        effects: list[Effect] = []
        if job.state is HOLDING:
            self.held_nodes += job.nodes
            if job.held_until == FOREVER:
                job.held_until = self._release_time(job, job.generation, job.held_since)
            if job.held_until < FOREVER:
                effects.append(SetTimer(job.id, Timer.RELEASE, job.held_until))
        if job.state is not RUNNING and not job.alone:
            effects += self._patience(job, since)
        if job.call is not None:
            job.call_since = now
            job.uncertain = type(job.call) in (TryStartMate, StartJob)
            effects.append(Call(job.peer, job.id, cast(Request, job.call)))
        return effects

    # Small things

    def _ignore(self, job: PairedJob, event: object, now: int) -> list[Effect]:  # noqa: ARG002
        return []


Action = Callable[[Coscheduler, PairedJob, object, int], list[Effect]]


def _rows(action: object, kinds: type | tuple[type, ...], *states: JobState) -> dict[tuple[JobState, type], Action]:
    each = kinds if isinstance(kinds, tuple) else (kinds,)
    return {(state, kind): cast(Action, action) for state in states for kind in each}


REPLIES = (MateJobId, MateStatus, MateStarted, MateTried)

# (state, kind of event) -> what happens. Late answers and stale timers are ignored; anything else not here is illegal.
TABLE: dict[tuple[JobState, type], Action] = {
    **_rows(Coscheduler._linked, Linked, QUEUED, READY, HOLDING),
    **_rows(Coscheduler._unlinked, Unlinked, QUEUED, READY, HOLDING),
    **_rows(Coscheduler._run_job, Ready, QUEUED),
    **_rows(Coscheduler._mate_id, MateJobId, READY),
    **_rows(Coscheduler._mate_status, MateStatus, READY),
    **_rows(Coscheduler._mate_started, MateStarted, READY),
    **_rows(Coscheduler._mate_tried, MateTried, READY),
    **_rows(Coscheduler._call_failed, CallFailed, READY),
    **_rows(Coscheduler._retry, RetryDue, READY),
    **_rows(Coscheduler._retry_of_holding, RetryDue, HOLDING),
    **_rows(Coscheduler._mate_id_of_holding, MateJobId, HOLDING),
    **_rows(Coscheduler._call_of_holding_failed, CallFailed, HOLDING),
    **_rows(Coscheduler._tried, Tried, QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED),
    **_rows(Coscheduler._started, Started, QUEUED, READY, HOLDING),
    **_rows(Coscheduler._requeued, Requeued, RUNNING),
    **_rows(Coscheduler._release, ReleaseDue, HOLDING),
    **_rows(Coscheduler._lose_nodes, NodesLost, READY, HOLDING),
    **_rows(Coscheduler._patience_over, PatienceOver, QUEUED, READY, HOLDING),
    **_rows(Coscheduler._finished, Finished, QUEUED, READY, HOLDING, RUNNING),
    **_rows(Coscheduler._ignore, (*REPLIES, CallFailed), QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED),
    **_rows(Coscheduler._ignore, REPLIES[1:], HOLDING),
    **_rows(Coscheduler._ignore, RetryDue, QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED),
    **_rows(Coscheduler._ignore, ReleaseDue, QUEUED, READY, RUNNING, COMPLETED, FAILED, CANCELLED),
    **_rows(Coscheduler._ignore, PatienceOver, RUNNING, COMPLETED, FAILED, CANCELLED),
}
