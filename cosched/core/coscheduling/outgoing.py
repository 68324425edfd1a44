"""What our jobs ask: Algorithm 1 (Tang et al., IV-C), from RunJob to start, hold or yield, and calls that fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cosched.core.coscheduling.allocations import HOLDING, READY, Allocations
from cosched.core.coscheduling.asking import ALIVE, Asking
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.mates import WAITING, Mates
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.proposing import Proposing
from cosched.core.effects import Call, Effect, Reschedule, SetTimer, Timer
from cosched.core.events import CallFailed, MateHeardOf, PatienceOver, Ready, RetryDue
from cosched.core.protocol import (
    NO_HOLD,
    Failure,
    Found,
    GetMateStatus,
    JobId,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    ProposeStart,
    SettleStart,
    StartJob,
    Status,
    TryStartMate,
)
from cosched.core.settings import OnMateUnknown, OnUnreachable, Scheme
from cosched.core.story import Detail, What, Why

DECIDED = (MateProblem.OFF, MateProblem.UNLINKED)  # somebody there has decided that the job starts alone


@dataclass
class Outgoing:
    """The questions of our jobs, and what follows from the answers."""

    ledger: Ledger
    mates: Mates
    peers: Peers
    allocations: Allocations
    asking: Asking
    proposing: Proposing

    # RunJob(j, N): Algorithm 1

    def run_job(self, job: PairedJob, event: Ready, now: int) -> list[Effect]:
        """The local scheduler has selected the job."""
        job.state = READY
        job.allocation, job.hold_limit, job.disclosed = event.allocation, event.hold_limit, False
        job.cannot_yield = event.cannot_yield
        job.missed = False
        if job.ready_at is None:
            job.ready_at = now
        self.allocations.slots.fits(job, now)
        if not self.ledger.settings.enabled:
            return self.allocations.start(job, now, Why.COSCHEDULING_OFF)
        if not job.peers:
            return self.allocations.start(job, now, Why.NO_MATE)
        if self.ledger.settled_by is not None:
            return self.allocations.wait(job, now, Why.DRAINING)
        if self.peers.known and any(self.peers.expects(peer, now) for peer in job.peers):
            return self.allocations.wait(job, now, Why.PEER_AWAY)
        return self.asking.ask_for_mate(job, now)

    def mate_id(self, job: PairedJob, answer: MateJobId, now: int) -> list[Effect]:
        """Which job the mate is."""
        if (mate := answer.job) is not None:
            if job.mate != mate:
                self.mates.settle(job, mate)
            job.problem = ""
            return self.asking.call(job, GetMateStatus(mate, job.id), now)
        if answer.found is Found.NO_PAIR:
            return self._mate_unknown(job, answer.problem, now)
        return self._mate_unsubmitted(job, now)

    def _mate_unknown(self, job: PairedJob, problem: MateProblem | None, now: int) -> list[Effect]:
        """There is no such mate. The job starts, as in the paper, or waits. If it can, it yields meanwhile."""
        if self.ledger.settings.on_mate_unknown is OnMateUnknown.START:
            return self.allocations.start(job, now, Why.NO_SUCH_PAIR)
        job.problem = problem or ""
        named: Detail = {"problem": job.problem, "peer": job.peer, "pair": job.pair, "mate": job.mate}
        if job.alone:
            return self.allocations.start(job, now, Why.PATIENCE_ENDED, **named)
        if job.or_alone or problem in DECIDED:
            return self.allocations.start(job, now, Why.NO_SUCH_PAIR, **named)
        return self.allocations.wait(job, now, Why.MATE_UNKNOWN, Scheme.YIELD, **named)

    def heard(self, job: PairedJob, event: MateHeardOf, now: int) -> list[Effect]:  # noqa: ARG002
        """What the mate's domain says to somebody else who asks for the job's mate."""
        mate, problem = event.answer.job, event.answer.problem
        if mate is not None and job.mate is None:
            self.mates.settle(job, mate)
        if event.answer.found is not Found.NO_PAIR:
            return []
        job.problem = problem or ""
        waits = self.ledger.settings.on_mate_unknown is OnMateUnknown.WAIT and not job.or_alone
        if not waits or job.state not in WAITING:
            return []
        named: Detail = {"peer": job.peer, "mate": job.mate, "pair": job.pair, "problem": job.problem}
        return self.ledger.note(job, What.WRONG_MATE, **named)

    def _mate_unsubmitted(self, job: PairedJob, now: int) -> list[Effect]:
        if job.alone:
            return self.allocations.start(job, now, Why.PATIENCE_ENDED)
        return self.allocations.wait(job, now, Why.MATE_UNSUBMITTED)

    def mate_status(self, job: PairedJob, answer: MateStatus, now: int) -> list[Effect]:
        """What state the mate is in."""
        status = answer.status
        if status is Status.QUEUING:
            return self._try_mate(job, now)
        if status is Status.HOLDING:
            return self._start_mate(job, answer.generation, now)
        if status is Status.UNSUBMITTED:
            return self._mate_unsubmitted(job, now)
        if status in (Status.RUNNING, Status.ENDED):
            gap = now - answer.started_at if answer.started_at is not None else None
            return self.allocations.start(job, now, Why.MATE_STARTED_BEFORE, gap_s=gap)
        return self.allocations.start(job, now, Why.MATE_WILL_NOT_RUN, mate_status=status)

    def _start_mate(self, job: PairedJob, generation: int, now: int) -> list[Effect]:
        request = StartJob(self.ledger.request_id(job), cast(JobId, job.mate), job.id, generation)
        noted = self.ledger.note(job, What.ASKS_TO_START_MATE, request=request.request_id)
        return noted + self.asking.call(job, request, now)

    def mate_started(self, job: PairedJob, answer: MateStarted, now: int) -> list[Effect]:
        """Whether the mate has started. It held, or its slot has come."""
        job.in_doubt = False
        if isinstance(job.call, StartJob) and job.call.slot_generation:
            return self.proposing.mate_started(job, answer, now)
        if answer.started:
            return self.allocations.start(job, now, Why.HOLDING_MATE_STARTED, answer.start_at)
        return self._try_mate(job, now)  # that hold has ended: the mate is queuing

    def _try_mate(self, job: PairedJob, now: int) -> list[Effect]:
        job.will_hold = self.allocations.would_hold(job, now)
        until = job.held_until if job.will_hold else 0
        request = TryStartMate(self.ledger.request_id(job), cast(JobId, job.mate), job.id, until)
        noted = self.ledger.note(job, What.ASKS_TO_TRY_MATE, request=request.request_id)
        return noted + self.asking.call(job, request, now)

    def mate_tried(self, job: PairedJob, answer: MateTried, now: int) -> list[Effect]:
        """Whether the queuing mate has started."""
        job.in_doubt = False
        if answer.started:
            return self.allocations.start(job, now, Why.MATE_COULD_START, answer.start_at)
        if job.will_hold and (job.cannot_yield or self.allocations.may_still_hold(job, now)):
            return self.allocations.hold(job, now, Why.MATE_QUEUING)
        if not answer.mate_ready or not self.ledger.settings.slots:
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING)
        if self.ledger.gives_slot(job):
            return self.proposing.settle(job, now)
        return self.allocations.pass_over(job, now, Why.MATE_QUEUING, no_slot=True)

    # Patience with an unsubmitted mate

    def patience_over(self, job: PairedJob, _: PatienceOver, now: int) -> list[Effect]:
        """The job has waited long enough for the submission of its mate."""
        job.alone = True
        noted = self.ledger.note(job, What.PATIENCE_ENDED)
        if job.state is HOLDING and (job.mate is None or job.problem):  # it may have been submitted since
            return noted + self.asking.ask_for_mate(job, now)
        return [*noted, Reschedule(job.id)]

    def mate_id_of_holding(self, job: PairedJob, answer: MateJobId, now: int) -> list[Effect]:
        """The answer to a holding job, which asked because its patience has ended."""
        if answer.job is None:
            return self.mate_id(job, answer, now)
        self.mates.settle(job, answer.job)
        job.call, job.problem = None, ""
        return []

    def call_of_holding_failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer to a holding job. It has asked because its patience has ended, or to make an earlier call void."""
        if job.call != event.request:
            return []
        if isinstance(event.request, StartJob):
            return self.proposing.failed(job, event, now)
        job.call = None
        if event.failure is Failure.REFUSED:
            return self.ledger.note(job, What.PEER_REFUSED, peer=job.peer)
        effects = self.asking.noticed(job, job.peer, event.failure, now)
        if event.failure in ALIVE or self.peers.expects(job.peer, now):
            job.missed = True
            return effects + self.asking.ask_later(job, job.peer, now)
        if self.ledger.settings.on_peer_unreachable is OnUnreachable.START:
            return effects + self._start_without_peer(job, now)
        return effects

    # Calls that fail

    def call_failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer to a ready job."""
        if job.call != event.request or self.proposing.slots.is_planning(job):
            return []
        if isinstance(event.request, (ProposeStart, SettleStart)):
            return self.proposing.failed(job, event, now)
        if event.failure is Failure.REFUSED:
            job.in_doubt |= job.uncertain
            noted = self._give_slot_up(job, event) + self.ledger.note(job, What.PEER_REFUSED, peer=job.peer)
            return noted + self.allocations.wait(job, now, Why.PEER_REFUSED)
        return self.asking.noticed(job, job.peer, event.failure, now) + self._unanswered(job, event, now)

    def _unanswered(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        settings = self.ledger.settings
        mutating, alive = type(event.request) in (TryStartMate, StartJob), event.failure in ALIVE
        job.uncertain = mutating and (job.uncertain or event.failure in (Failure.TIMEOUT, Failure.SLOW))
        waited_for = alive or self.peers.expects(job.peer, now)
        patient = now < job.call_since + settings.peer_patience
        if (job.uncertain and (waited_for or patient)) or (alive and patient):
            return [SetTimer(job.id, Timer.RETRY, now + settings.retry_interval)]
        given_up = self._give_slot_up(job, event)
        if waited_for:
            why = Why.PEER_BUSY if alive else Why.PEER_AWAY
            return given_up + self.allocations.wait(job, now, why) + self.asking.ask_later(job, job.peer, now)
        return given_up + self._peer_unreachable(job, now)

    def _give_slot_up(self, job: PairedJob, event: CallFailed) -> list[Effect]:
        """Drop a slot at which the mate was to start: whether it has started is unknown."""
        at_slot = isinstance(event.request, StartJob) and event.request.slot_generation
        return self.proposing.slots.drop(job, Why.NOT_CLAIMED) if at_slot else []

    def retry(self, job: PairedJob, _: RetryDue, now: int) -> list[Effect]:  # noqa: ARG002
        """Repeat the call of a job that is ready, keeps a slot, or makes an earlier call void."""
        return [] if job.call is None else [Call(job.peer, job.id, job.call)]

    def retry_of_holding(self, job: PairedJob, event: RetryDue, now: int) -> list[Effect]:
        """A job that holds because no answer came asks again."""
        return self.asking.ask_again(job, now) if job.missed else self.retry(job, event, now)

    def _peer_unreachable(self, job: PairedJob, now: int) -> list[Effect]:
        choice = self.ledger.settings.on_peer_unreachable
        if choice is OnUnreachable.START:
            return self._start_without_peer(job, now)
        job.in_doubt |= job.uncertain
        return self.allocations.wait(job, now, Why.PEER_UNREACHABLE, Scheme(choice.value))

    # A call that was given up

    def make_void(self, job: PairedJob, now: int) -> list[Effect]:
        """Make void a call that was given up, and may still arrive: a later one is sent until it is answered."""
        request = StartJob(self.ledger.request_id(job), cast(JobId, job.mate), job.id, NO_HOLD)
        return self.asking.call(job, request, now)

    def made_void(self, job: PairedJob, answer: MateStarted, now: int) -> list[Effect]:
        """Whether the mate has started by the call that was given up. If so, the job asks again, and starts late."""
        job.call, job.in_doubt = None, False
        if not answer.started:
            return []
        return self.asking.ask_again(job, now) if job.state is HOLDING else [Reschedule(job.id)]

    def _start_without_peer(self, job: PairedJob, now: int) -> list[Effect]:
        away = self.peers.away_for(job.peer, now)
        detail: Detail = {} if away is None else {"away_s": away}
        return self.allocations.start(job, now, Why.PEER_UNREACHABLE, **detail)

    # Restart

    def recover_call(self, job: PairedJob, now: int) -> list[Effect]:
        """Repeat what a job asked before a restart. A mutating call may have been carried out."""
        if job.call is None:
            return []
        job.call_since = now
        job.uncertain = type(job.call) in (TryStartMate, StartJob)
        return [Call(job.peer, job.id, job.call)]
