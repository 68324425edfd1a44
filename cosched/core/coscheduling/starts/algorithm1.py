"""Algorithm 1 (Tang et al., IV-C): how a start now is proposed to an only partner.

The question and the decision are one call: StartJob to a mate that holds, TryStartMate to one that queues. So a pair
starts by two-phase commit with the shortcut of the last agent: who is asked decides for both.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import ALIVE, Asking
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.starts.agreeing import Agreeing
from cosched.core.coscheduling.starts.telling import Telling
from cosched.core.effects import Call, Effect, Reschedule, SetTimer, Timer
from cosched.core.events import Answered, CallFailed
from cosched.core.protocol import (
    NO_HOLD,
    Failure,
    JobId,
    MateStarted,
    MateStatus,
    MateTried,
    MutatingRequest,
    StartJob,
    Status,
    TryStartMate,
)
from cosched.core.settings import OnUnreachable, Scheme
from cosched.core.story import Detail, What, Why


@dataclass
class Algorithm1:
    """The calls of our jobs that may start their mates."""

    ledger: Ledger
    peers: Peers
    allocations: Allocations
    asking: Asking
    agreeing: Agreeing
    telling: Telling

    def propose(self, job: PairedJob, mate: MateStatus, now: int) -> list[Effect]:
        """The mate holds, or queues: start it, or try to."""
        if mate.status is Status.HOLDING:
            return self._start_mate(job, mate, now)
        return self._try_mate(job, mate.runs, now)

    def _start_mate(self, job: PairedJob, mate: MateStatus, now: int) -> list[Effect]:
        request = StartJob(self.ledger.request_id(job), _mate_of(job), job.id, mate.generation, runs=mate.runs)
        noted = self.ledger.note(job, What.ASKS_TO_START_MATE, request=request.request_id)
        return noted + self._call(job, request, now)

    def _try_mate(self, job: PairedJob, runs: int | None, now: int) -> list[Effect]:
        job.will_hold = self.allocations.would_hold(job, now)
        until = job.held_until if job.will_hold else 0
        request = TryStartMate(self.ledger.request_id(job), _mate_of(job), job.id, until, runs=runs)
        called = self._call(job, request, now)
        if not self.ledger.story:
            return called
        return self.ledger.note(job, What.ASKS_TO_TRY_MATE, request=request.request_id) + called

    @staticmethod
    def _call(job: PairedJob, request: MutatingRequest, now: int) -> list[Effect]:
        job.call, job.call_since, job.uncertain = request, now, False
        [peer] = membership(job).others
        return [Call(peer, job.id, request)]

    # Answers

    def started(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """Whether the mate, which held, has started."""
        request, answer, job.in_doubt = event.request, event.answer, False
        assert isinstance(request, StartJob)
        assert isinstance(answer, MateStarted)
        if request.generation == NO_HOLD:
            return self._made_void(job, answer, now)
        if job.state is not READY:
            return []
        job.call = None
        if answer.started:
            return self.allocations.start(job, now, Why.HOLDING_MATE_STARTED, answer.start_at)
        return self._try_mate(job, request.runs, now)  # that hold has ended: the mate is queuing

    def tried(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """Whether the mate, which was queuing, has started."""
        answer, job.in_doubt = event.answer, False
        assert isinstance(answer, MateTried)
        if job.state is not READY:
            return []
        job.call = None
        if answer.started:
            return self.allocations.start(job, now, Why.MATE_COULD_START, answer.start_at)
        if job.will_hold and (job.cannot_yield or self.allocations.may_still_hold(job, now)):
            return self.allocations.hold(job, now, Why.MATE_QUEUING)
        if not answer.may_book or not self.ledger.settings.slots:
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING)
        if self.ledger.gives_slot(job):
            return self.agreeing.agree(job, job.peer, now)
        return self.allocations.pass_over(job, now, Why.MATE_QUEUING, no_slot=True)

    # Calls that fail

    def failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer: the mate may have started, or may start yet."""
        told = event.failure is Failure.REFUSED and job.state is not READY and event.peer in membership(job).unanswered
        noticed = [] if told else self.asking.noticed(job, event, now)
        settings = self.ledger.settings
        if job.state is not READY:  # it makes void what was given up
            return [*noticed, SetTimer(job.id, Timer.RETRY, now + settings.long_pause)]
        if membership(job).proposal is not None:  # so it does at its slot, where it asks by a proposal
            return [*noticed, SetTimer(job.id, Timer.RETRY, now + settings.retry_interval)]
        if event.failure is Failure.REFUSED:
            job.in_doubt |= job.uncertain
            return [*noticed, *self.allocations.wait(job, now, Why.PEER_REFUSED)]
        return [*noticed, *self._unanswered(job, event.failure, now)]

    def _unanswered(self, job: PairedJob, failure: Failure, now: int) -> list[Effect]:
        settings, alive = self.ledger.settings, failure in ALIVE
        job.uncertain = job.uncertain or failure in (Failure.TIMEOUT, Failure.SLOW)
        waited_for = alive or self.peers.expects(job.peer, now)
        patient = now < job.call_since + settings.peer_patience
        if (job.uncertain and (waited_for or patient)) or (alive and patient):
            return [SetTimer(job.id, Timer.RETRY, now + settings.retry_interval)]
        if waited_for:
            why = Why.PEER_BUSY if alive else Why.PEER_AWAY
            return self.allocations.wait(job, now, why) + self.asking.ask_later(job, job.peer, now)
        if settings.on_peer_unreachable is OnUnreachable.START:
            return self.start_without_peer(job, now)
        job.in_doubt |= job.uncertain
        return self.allocations.wait(job, now, Why.PEER_UNREACHABLE, Scheme(settings.on_peer_unreachable.value))

    def start_without_peer(self, job: PairedJob, now: int) -> list[Effect]:
        """The mate's domain gives no answer: the job starts alone."""
        away = self.peers.away_for(job.peer, now)
        detail: Detail = {} if away is None else {"away_s": away}
        return self.allocations.start(job, now, Why.PEER_UNREACHABLE, **detail)

    # A call that was given up

    def make_void(self, job: PairedJob, now: int) -> list[Effect]:
        """Have a call refused that was given up, if it comes yet: one with a later number goes out, until answered.

        It waits for nothing else, and goes out beside the RunJobs of a job that queues, or holds. One that has started
        alone instead may run: so it goes out once that job is queued again.
        """
        if not job.in_doubt or job.call is not None or job.state not in (QUEUED, HOLDING):
            return []
        return self._call(job, StartJob(self.ledger.request_id(job), _mate_of(job), job.id, NO_HOLD), now)

    def _made_void(self, job: PairedJob, answer: MateStarted, now: int) -> list[Effect]:
        """Whether the mate has started by that call: then the job asks, and starts, too, late.

        One that was queued again says so once more: its mate has heard that when it did not run, and may follow it.
        """
        job.call = None
        if not answer.started or job.state is READY:  # at its slot it is told soon that its mate runs
            return []
        news = self.telling.tell_news(job, membership(job).jobs, now) if job.runs else []
        return news + (self.asking.ask_again(job, now) if job.state is HOLDING else [Reschedule(job.id)])

    def again(self, job: PairedJob) -> list[Effect]:
        """Repeat the call whose answer the job awaits, if there is one."""
        return [] if job.call is None else [Call(job.peer, job.id, job.call)]

    def recover(self, job: PairedJob, now: int) -> list[Effect]:
        """Repeat what a job asked before a restart: it may have been carried out."""
        job.call_since, job.uncertain = now, job.call is not None
        return self.again(job)


def _mate_of(job: PairedJob) -> JobId:
    """Return the mate of a job that has asked about it."""
    [mate] = membership(job).jobs.values()
    return mate
