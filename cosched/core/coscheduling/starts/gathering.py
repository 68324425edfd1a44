"""A job whose turn has come: it asks for the others, and proposes that all start now.

All others are asked at once. If each could start, each is asked to keep its nodes (ProposeGroupStart). If all do, the
start is decided, on record, and told to all until they know it. If one does not, the proposal is dropped for good, and
the job holds or yields. So nobody starts unless all have their nodes. To a mate it is proposed by Algorithm 1.

A member that is busy is asked again for a while: it is booked by another member, whose proposal may fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import ALIVE, Asking
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import NOTHING, Membership, all_but
from cosched.core.coscheduling.names import Names
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.standing import WAITS, others_of, outlives_others
from cosched.core.coscheduling.starts.agreeing import Agreeing
from cosched.core.coscheduling.starts.algorithm1 import Algorithm1
from cosched.core.coscheduling.starts.proposing import Proposing
from cosched.core.coscheduling.successors import Successors
from cosched.core.effects import Call, CancelJob, Effect, Reschedule, SetTimer, Timer, Want
from cosched.core.events import Answered, CallFailed, Ready, RetryDue
from cosched.core.job import WAITING
from cosched.core.protocol import (
    NO_TERMS,
    Domain,
    Failure,
    Found,
    GetMateStatus,
    JobId,
    MateJobId,
    MateProblem,
    MateStatus,
    Request,
    Status,
)
from cosched.core.settings import OnMateUnknown, OnMemberLost, OnUnreachable, Scheme
from cosched.core.story import Detail, What, Why

APART = (MateProblem.OFF, MateProblem.UNLINKED)  # somebody there has decided that the job goes on without


@dataclass
class Gathering:
    """What our members ask of the others."""

    ledger: Ledger
    names: Names
    peers: Peers
    allocations: Allocations
    asking: Asking
    agreeing: Agreeing
    proposing: Proposing
    algorithm1: Algorithm1
    successors: Successors

    # RunJob(j, N): Algorithm 1

    def run_job(self, job: PairedJob, event: Ready, now: int) -> list[Effect]:
        """The local scheduler has selected the job. One that pauses leaves its nodes to others."""
        job.state, group = READY, job.group
        if job.ending is not None:
            return [*self.allocations.give_back(job), CancelJob(job.id, job.ending)]
        if group is not None and now < group.pauses_until and not event.cannot_yield:
            return self.allocations.give_back(job)
        job.allocation, job.hold_limit, job.disclosed = event.allocation, event.hold_limit, False
        job.cannot_yield, job.missed = event.cannot_yield, False
        if job.ready_at is None:
            job.ready_at = now
        if job.slot is not None:
            self.agreeing.slots.fits(job, now)
        if not self.ledger.enabled:
            return self.allocations.start(job, now, Why.COSCHEDULING_OFF)
        if group is None:
            return self.allocations.start(job, now, Why.NO_MATE)
        if self.ledger.settled_by is not None:
            return self.allocations.wait(job, now, Why.DRAINING)
        if self.peers.known and any(self.peers.expects(peer, now) for peer in group.others):
            return self.allocations.wait(job, now, Why.PEER_AWAY)
        if job.runs and (untold := self.asking.untold(job, now)) is not None:
            return self.allocations.wait(job, now, Why.MATE_NOT_TOLD, Scheme.YIELD, **job.about(untold))
        return self.asking.ask(job, now)

    # Who is there

    def found(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """Which job is the mate, or the member there; if there is one, how it stands is asked next."""
        group, peer, answer = job.group, event.peer, event.answer
        assert group is not None
        assert isinstance(answer, MateJobId)
        if answer.job is None:
            if answer.found is Found.BUSY:
                return self.failed(job, CallFailed(job.id, event.request, Failure.BUSY, peer), now)
            return self._told(job, group, peer, answer, now)
        replaced: list[Effect] = []
        if (before := group.jobs.get(peer)) != answer.job:
            self.names.know(job, peer, answer.job)
            replaced = [] if before is None else self.replaced(job, peer, before)
        if group.terms is not NO_TERMS:
            group.bind(peer)
        if job.problem and group.is_pair:
            job.problem = ""
        if job.state is HOLDING:  # it has only asked whether its mate is there by now
            group.asked = NOTHING
            return replaced
        request = GetMateStatus(answer.job, job.id)
        group.asked[peer] = request
        return [*replaced, Call(peer, job.id, request)]

    def replaced(self, job: PairedJob, peer: Domain, before: JobId) -> list[Effect]:
        """Another job there is the mate, or the member, in the place of one that has ended."""
        job.in_doubt = False  # what was asked of that one is over
        noted = self.ledger.note(job, What.LINKED, mate=membership(job).jobs[peer], peer=peer, was=f"{peer}:{before}")
        return [*noted, *self.successors.came(job)]

    def told(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """How the mate stands, or the member there."""
        assert job.group is not None
        assert isinstance(event.answer, MateStatus)
        return self._told(job, job.group, event.peer, event.answer, now)

    def _told(
        self, job: PairedJob, group: Membership, peer: Domain, what: MateStatus | MateJobId | Failure, now: int
    ) -> list[Effect]:
        del group.asked[peer]
        group.told[peer] = what
        if group.asked:
            return []
        if group.is_pair and (mate := self._waiting_mate(job, group)) is not None:
            return self.algorithm1.propose(job, mate, now)
        return self._advance(job, group, now)

    def _advance(self, job: PairedJob, group: Membership, now: int) -> list[Effect]:
        """All others have been asked: start, wait, or propose. A job without nodes may only be cancelled, or wait."""
        begun, lacking, lost, left = others_of(group)
        if outlives_others(group):
            return self._end_unstarted(job)
        losses: list[Effect] = []
        for peer in lost:
            losses += self._lose(job, peer, now)
        if job.state is QUEUED:
            return losses + self._without_nodes(job, group, left, now, stops=bool(lost) and not begun)
        if begun:
            return losses + self._follow(job, now)
        if group.at is not None and job.slot is None and now >= (self.ledger.passed_from(job) or 0):
            return self._stop(job, Why.INSTANT_PASSED, {"group": group.name}, now)
        for peer in lacking:
            if (waits := self._missing(job, peer, group.told[peer], now)) is not None:
                return losses + waits
        if (awaited := self.successors.awaited(job, now)) is not None:
            return losses + self.successors.wait(job, awaited, now)
        if lost and self._aborts(group, left):
            detail: Detail = {} if job.is_pair else {"peer": lost[0], "group": group.name}
            return losses + self._stop(job, Why.MEMBER_LOST, detail, now)
        dropped = self._leave_out(job, left) if lacking or lost or group.without else []
        return losses + dropped + self._propose(job, group, left, now)

    @staticmethod
    def _waiting_mate(job: PairedJob, group: Membership) -> MateStatus | None:
        """Return how the mate stands if both just wait to start, as is usual."""
        [mate] = group.told.values()
        if not isinstance(mate, MateStatus) or mate.status not in WAITS or job.state is not READY:
            return None
        return None if group.lost or group.without or group.at is not None or group.windows else mate

    def _end_unstarted(self, job: PairedJob) -> list[Effect]:
        """A member with which the job ends has ended after it had run: the job does not start."""
        job.ending = Why.MATE_ENDED
        given_back = [] if job.state is QUEUED else self.allocations.give_back(job)
        return [*given_back, CancelJob(job.id, job.ending)]

    def _lose(self, job: PairedJob, peer: Domain, now: int) -> list[Effect]:
        """The member there has ended: its domain holds nothing for the job any more, and has no slot with it."""
        group = membership(job)
        told = group.told[peer]
        assert isinstance(told, MateStatus)
        effects = self.successors.lose(job, peer, told, now)
        group.held_by = all_but(peer, group.held_by)
        if job.state is QUEUED and job.wanted and group.is_pair:
            job.wanted = False
            effects.append(Want(job.id, False))
        if job.slot is not None and not group.keeps_slot:
            effects += self.agreeing.slots.drop(job, Why.MATE_CHANGED)
        return effects

    def _without_nodes(
        self, job: PairedJob, group: Membership, left: Sequence[Domain], now: int, *, stops: bool
    ) -> list[Effect]:
        """What a queued job does that has asked after a hint: it is cancelled, or waits for its turn."""
        cancels = self.ledger.settings.on_member_lost is OnMemberLost.CANCEL and self._aborts(group, left)
        if stops and cancels and self.successors.awaited(job, now) is None:
            return [CancelJob(job.id)]
        told = group.told.get(job.peer)
        if isinstance(told, MateJobId) and told.found is Found.NO_PAIR and told.problem != job.problem:
            return [*self.wrong_mate(job, told.problem), Reschedule(job.id)]
        return [Reschedule(job.id)]

    def wrong_mate(self, job: PairedJob, problem: MateProblem | None) -> list[Effect]:
        """There is no such mate, which the owner of a job that waits for it should know before its turn."""
        job.problem = problem or ""
        waits = self.ledger.settings.on_mate_unknown is OnMateUnknown.WAIT and not membership(job).or_alone
        if not waits or job.state not in WAITING:
            return []
        return self.ledger.note(job, What.WRONG_MATE, **self._problem(job, job.peer))

    def _aborts(self, group: Membership, left: Sequence[Domain]) -> bool:
        """Return whether those that are left do not start without the lost ones."""
        stops = self.ledger.settings.on_member_lost is not OnMemberLost.START or (group.at is not None and not left)
        return stops and not group.or_alone

    def _follow(self, job: PairedJob, now: int) -> list[Effect]:
        """Others have started: start, too, as soon as the windows allow."""
        group = membership(job)
        statuses = ((peer, told) for peer, told in group.told.items() if isinstance(told, MateStatus))
        begun = {peer: told.started_at for peer, told in statuses if told.started_at is not None}
        if now < (first := self._first_after(group, begun)):
            waits = self.allocations.wait(job, now, Why.WINDOW_AHEAD, Scheme.YIELD, group=group.name)
            return [*waits, SetTimer(job.id, Timer.RETRY, first)]
        return self.allocations.start(job, now, Why.MATE_STARTED_BEFORE, gap_s=self._gap(group, begun, now))

    def _propose(self, job: PairedJob, group: Membership, left: Sequence[Domain], now: int) -> list[Effect]:
        """Propose a start to those that are left, if there are any."""
        if not left:
            return self._start_alone(job, group, now)
        if group.by_slots_only:
            return self.proposing.at_slots(job, left, now)
        if group.is_pair:
            [mate] = group.told.values()
            assert isinstance(mate, MateStatus)
            return self.algorithm1.propose(job, mate, now)
        return self.proposing.propose(job, left, now)

    def _first_after(self, group: Membership, begun: Mapping[Domain, int]) -> int:
        """The first instant at which the job may start, by the windows of all, if others have started unasked."""
        if group.has_begun or not group.by_slots_only:
            return 0
        instants = (at - group.window(peer)[1] for peer, at in begun.items())
        return max(instants, default=0) + group.window(self.ledger.domain)[0]

    def _gap(self, group: Membership, begun: Mapping[Domain, int], now: int) -> int | None:
        """How much later than the windows have it the job starts, if others have started already; None: none has."""
        if not begun:
            return None
        first = min(at - group.window(peer)[0] for peer, at in begun.items())
        gap = now - group.window(self.ledger.domain)[1] - first
        return max(gap, 0) if group.by_slots_only else gap

    def _leave_out(self, job: PairedJob, left: Sequence[Domain]) -> list[Effect]:
        """Only these members take part. A slot that was agreed on with others is outdated."""
        group = membership(job)
        without = tuple([peer for peer in group.told if peer not in left])
        same = without == group.without or set(without) == set(group.without) or group.keeps_slot
        group.without = without
        return [] if same else self.agreeing.slots.drop(job, Why.MATE_CHANGED)

    def _missing(
        self, job: PairedJob, peer: Domain, told: MateStatus | MateJobId | Failure, now: int
    ) -> list[Effect] | None:
        """Return what the job does while it has to wait for this member; None: it need not wait for it."""
        if isinstance(told, Failure):
            return self._unreachable(job, peer, told, now)
        if isinstance(told, MateJobId) and told.found is not Found.UNSUBMITTED:
            return self._unknown(job, peer, told, now)
        return None if job.alone else self.allocations.wait(job, now, Why.MATE_UNSUBMITTED, **job.about(peer))

    def _unknown(self, job: PairedJob, peer: Domain, told: MateJobId, now: int) -> list[Effect] | None:
        if self.ledger.settings.on_mate_unknown is OnMateUnknown.START:
            return None
        job.problem = told.problem or ""
        if membership(job).or_alone or job.alone or told.problem in APART:
            return None
        return self.allocations.wait(job, now, Why.MATE_UNKNOWN, Scheme.YIELD, **self._problem(job, peer))

    @staticmethod
    def _problem(job: PairedJob, peer: Domain) -> Detail:
        """Return which of the others cannot be had, and why, for the job's story."""
        if job.is_pair:
            return {"problem": job.problem, "peer": peer, "pair": job.pair, "mate": job.mate}
        return {"problem": job.problem, "peer": peer, "group": membership(job).name}

    def _stop(self, job: PairedJob, why: Why, detail: Detail, now: int) -> list[Effect]:
        """A member will not run, or the given instant has passed: the job waits for what its owner does, or ends."""
        if membership(job).or_alone:  # a lost member stops no such job
            return self.allocations.start(job, now, why, **detail)
        waits = self.allocations.wait(job, now, why, Scheme.YIELD, **detail)
        return [*waits, CancelJob(job.id)] if self.ledger.settings.on_member_lost is OnMemberLost.CANCEL else waits

    def _unreachable(self, job: PairedJob, peer: Domain, failure: Failure, now: int) -> list[Effect] | None:
        if failure is Failure.REFUSED:
            return self.allocations.wait(job, now, Why.PEER_REFUSED, **job.about(peer))
        if failure in ALIVE or self.peers.expects(peer, now) or self.peers.is_back(peer):
            why = Why.PEER_BUSY if failure in ALIVE else Why.PEER_AWAY
            return [*self.allocations.wait(job, now, why, **job.about(peer)), *self.asking.ask_later(job, peer, now)]
        choice = self.ledger.settings.on_peer_unreachable
        if choice is OnUnreachable.START:
            return None
        return self.allocations.wait(job, now, Why.PEER_UNREACHABLE, Scheme(choice.value), **job.about(peer))

    def _start_alone(self, job: PairedJob, group: Membership, now: int) -> list[Effect]:
        if not job.is_pair:
            return self.allocations.start(job, now, Why.NO_MEMBER_LEFT, without=list(group.without))
        told = group.told[job.peer]
        if isinstance(told, Failure):
            return self.algorithm1.start_without_peer(job, now)
        if isinstance(told, MateStatus) and told.status is not Status.UNSUBMITTED:
            return self.allocations.start(job, now, Why.MATE_WILL_NOT_RUN, mate_status=told.status)
        if isinstance(told, MateStatus) or told.found is Found.UNSUBMITTED:
            return self.allocations.start(job, now, Why.PATIENCE_ENDED)
        if self.ledger.settings.on_mate_unknown is OnMateUnknown.START:  # as in the paper
            return self.allocations.start(job, now, Why.NO_SUCH_PAIR)
        why = Why.PATIENCE_ENDED if job.alone else Why.NO_SUCH_PAIR
        return self.allocations.start(job, now, why, **self._problem(job, job.peer))

    # To give up

    def stop_asking(self, job: PairedJob, now: int) -> list[Effect]:
        """The job asks no longer about the others, and proposes nothing."""
        group = job.group
        if group is None:
            return []
        group.asked = group.told = NOTHING
        dropped = [] if group.agreement is None else self.agreeing.slots.abandon(job)
        if group.proposal is not None:
            dropped += self.proposing.drop(job, now)
        group.again = NOTHING
        return dropped

    # Calls that fail

    def failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer of another's domain."""
        group, peer = membership(job), event.peer
        if group.asked.get(peer) == event.request:
            unanswered = self._unanswered_while_holding if job.state is HOLDING else self._unanswered
            return self.asking.noticed(job, event, now) + unanswered(job, event, now)
        if self.proposing.awaiting(job, peer, event.request) is not None:
            noticed = self.asking.noticed(job, event, now)
            if event.failure in (Failure.REFUSED, Failure.UNREACHABLE):
                return noticed + self.proposing.fail(job, "", now)
            return noticed + self.proposing.ask_again(job, peer, now)
        agreement = group.agreement
        if agreement is not None and agreement.awaits(peer, event.request):
            return self.asking.noticed(job, event, now) + self.agreeing.give_up(job, agreement, now)
        if group.keeping.get(peer) == event.request:
            group.again = {**group.again, peer: None}
            return [SetTimer(job.id, Timer.RETRY, now + self.ledger.settings.retry_interval)]
        return []

    def _unanswered(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer to a question: a peer that is alive is asked again, until patience ends."""
        settings = self.ledger.settings
        if job.state is READY and event.failure in ALIVE and now < job.call_since + settings.peer_patience:
            group = membership(job)
            group.again = {**group.again, event.peer: None}
            return [SetTimer(job.id, Timer.RETRY, now + settings.retry_interval)]
        return self._told(job, membership(job), event.peer, event.failure, now)

    def _unanswered_while_holding(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """What holds already goes on holding, but for `on_peer_unreachable` = start."""
        membership(job).asked = NOTHING
        if event.failure is Failure.REFUSED:
            return []
        if event.failure in ALIVE or self.peers.expects(event.peer, now):
            job.missed = True
            return self.asking.ask_later(job, event.peer, now)
        starts = self.ledger.settings.on_peer_unreachable is OnUnreachable.START
        return self.algorithm1.start_without_peer(job, now) if starts else []

    def retry(self, job: PairedJob, _: RetryDue, now: int) -> list[Effect]:
        """It is time to ask those again that gave no answer, or were busy."""
        group = job.group
        if group is None:
            return []
        if job.state is HOLDING:
            return self.asking.ask_when_unbooked(job, now) if job.missed else self.algorithm1.again(job)
        asked = [(peer, request) for peer in group.again for request in self._open_requests(group, peer)]
        group.again = NOTHING
        again = [*self.algorithm1.again(job), *(Call(peer, job.id, request) for peer, request in asked)]
        if not again and job.state is QUEUED and group.by_slots_only:
            return [Reschedule(job.id)]  # others have started unasked, and its window begins
        return again

    @staticmethod
    def _open_requests(group: Membership, peer: Domain) -> list[Request]:
        """What this peer has not answered yet: what the job asks now, and whether a slot is kept."""
        asked = group.asked.get(peer)
        if asked is None and group.proposal is not None:
            asked = group.proposal.requests.get(peer)
        return [request for request in (asked, group.keeping.get(peer)) if request is not None]
