"""Algorithm 1 (Tang et al., IV-C) and its enhancements (IV-E) as a state machine: events in, effects out.

How it works. `Coscheduler` knows the paired jobs of one policy domain and the rules of coscheduling.md; it does not
know how nodes are managed, nor the time, nor the network. `handle(event, now)` looks up (state of the job, kind of
event) in its table, carries that transition out, and returns the effects. An event that has no row raises
`IllegalEvent` and changes nothing. Rules:

* RunJob(j, N) is the event Ready. The job stays READY, its nodes busy, while questions to the mate's domain are
  answered. It leaves READY by Start, Hold or Yield, or because its mate's domain starts it first (crossing calls).
* A started job never asks again: answers that come later are ignored. Starting is idempotent.
* What a READY job does if its mate cannot start (hold or yield) is decided before TryStartMate is sent, since that
  call tells the mate's domain how long the caller will hold.
* A mutating call that timed out has an unknown outcome. It is repeated with its request id until patience ends.
* A busy peer is alive: no job starts alone because of it. A peer that was there and is away has a grace first.

The parts, each of which knows only those before it: `ledger` (the jobs and their states), `mates`, with `asked_early`
(who is whose), `peers` (who is there), `slots` (agreed instants), `allocations` (start, hold, yield, release), `asking`
(when jobs ask), `answers` (what peers were answered), `bookings` (the slots that peers propose), `links` (what owners
say), `proposing` (the slots that our jobs propose), `outgoing` (what our jobs ask), `groups` (jobs that start with more
than one other), `incoming` (what peers ask).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cosched.core.allocation import SizeChanged
from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, RUNNING, Allocations
from cosched.core.coscheduling.answers import Answers
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.bookings import Bookings
from cosched.core.coscheduling.groups.agreeing import Agreeing
from cosched.core.coscheduling.groups.gathering import Gathering
from cosched.core.coscheduling.groups.grouping import Grouping
from cosched.core.coscheduling.groups.members import Members
from cosched.core.coscheduling.groups.promises import Promises
from cosched.core.coscheduling.groups.reserving import Reserving
from cosched.core.coscheduling.groups.telling import Telling
from cosched.core.coscheduling.incoming import Incoming
from cosched.core.coscheduling.ledger import IllegalEvent, Ledger, PairedJob, always
from cosched.core.coscheduling.links import Links
from cosched.core.coscheduling.mates import WAITING, Mates
from cosched.core.coscheduling.outgoing import Outgoing
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.proposing import Proposing
from cosched.core.coscheduling.slots import Slots
from cosched.core.coscheduling.transitions import ForWhom, Transition, ignore
from cosched.core.effects import Answer, Effect, Want
from cosched.core.events import (
    Answered,
    Asked,
    Booked,
    CallFailed,
    Claimed,
    Drained,
    Event,
    Finished,
    GraceOver,
    JobEvent,
    Linked,
    MateHeardOf,
    MayBeEarlier,
    NodesLost,
    PatienceOver,
    PeerAway,
    PeerDrains,
    PeerLeaves,
    PeerThere,
    Quoted,
    Ready,
    ReleaseDue,
    Requeued,
    Resumed,
    RetryDue,
    SlotDue,
    SlotLapsed,
    StartedUnasked,
    Submitted,
    TellDue,
    Tried,
    Unlinked,
)
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    JobId,
    MateJobId,
    MateStarted,
    MateStatus,
    MateTried,
    MutatingRequest,
    Proposed,
    Request,
    Settled,
    SettleStart,
)
from cosched.core.settings import CoschedulingSettings
from cosched.core.story import Why

REPLIES = (MateJobId, MateStatus, MateStarted, MateTried)
ABOUT_SLOTS = (Proposed, Settled)
ENDED = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)

Table = dict[tuple[JobState, type], Transition]


class Coscheduler:
    """Coscheduling in the policy domain `domain` of `nodes` nodes.

    `owners`: names of peers' users here, where they differ. The rest: see Ledger.
    """

    def __init__(
        self,
        domain: Domain,
        nodes: int,
        settings: CoschedulingSettings,
        *,
        owners: Mapping[tuple[Domain, str], str] | None = None,
        story: bool = True,
        known_as: Callable[[JobId], str] = str,
        may_hold: Callable[[JobId, int], bool] = always,
        from_wall: Callable[[int], int] = int,
    ) -> None:
        self.ledger = ledger = Ledger(domain, nodes, settings, story, known_as, may_hold, from_wall)
        self.jobs = ledger.jobs
        self._changed = ledger.changed
        self.mates = mates = Mates(ledger.jobs, owners or {})
        self.peers = peers = Peers(ledger)
        self.slots = slots = Slots(ledger)
        self.allocations = allocations = Allocations(ledger, peers, slots)
        self.asking = asking = Asking(ledger, peers, allocations)
        self.members = members = Members(ledger, mates, owners or {})
        self.answers = answers = Answers(ledger)
        self.bookings = bookings = Bookings(ledger, mates, allocations, slots, answers)
        self.links = Links(ledger, mates, members, allocations, asking, slots, bookings)
        self.proposing = proposing = Proposing(ledger, peers, allocations, asking, slots)
        self.outgoing = outgoing = Outgoing(ledger, mates, peers, allocations, asking, proposing)
        agreeing = Agreeing(ledger, peers, allocations, asking, slots)
        self.telling = telling = Telling(ledger)
        gathering = Gathering(ledger, peers, allocations, asking, agreeing, telling)
        reserving = Reserving(ledger, allocations, slots, agreeing)
        promises = Promises(ledger, members, peers, allocations, asking, gathering, reserving)
        self.grouping = Grouping(
            ledger, members, allocations, asking, telling, agreeing, gathering, reserving, promises, outgoing
        )
        self.incoming = Incoming(ledger, mates, allocations, answers, bookings, self.grouping)
        self.table = self._transitions()
        self.others = self._other_events()
        kinds = {kind for _, kind in self.table}
        self._rows = {kind: [self.table.get((state, kind)) for state in JobState] for kind in kinds}  # quick to look up

    @property
    def settings(self) -> CoschedulingSettings:
        """What the site has configured."""
        return self.ledger.settings

    def handle(self, event: Event, now: int) -> list[Effect]:
        """Carry out one event at instant `now`. The effects are to be carried out in their order."""
        self.ledger.now = now
        if not isinstance(event, JobEvent) or type(event) is Submitted:
            return self.others[type(event)](event, now)
        job = self.jobs.get(event.job)
        if job is None:
            raise IllegalEvent(f"{type(event).__name__} of unknown job {event.job}")
        if job.untold and type(event) in (Answered, CallFailed):
            self._changed[job.id] = None
            return self.telling.handle(job, event, now) + self._handle(job, event, now)
        return self._handle(job, event, now)

    def _handle(self, job: PairedJob, event: JobEvent, now: int) -> list[Effect]:
        if job.group is not None:
            self._changed[job.id] = None
            if type(event) is Tried:
                return self._tried_for_mate(job, event, now)
            return self.grouping.handle(job, event, now)
        if type(event) is not Answered:
            effects = self._row(job, type(event))(job, event, now)
        elif self.awaits(job, event.request):
            effects = self._row(job, type(event.answer))(job, event.answer, now)
            if heard := self.asking.heard_of(job.peer, now):
                effects = effects + heard
        else:
            return []  # the answer to a question that nobody asks any more
        self._changed[job.id] = None
        return effects + self._call_beside(job, now) if job.slot is not None or job.in_doubt else effects

    def _tried_for_mate(self, job: PairedJob, event: Tried, now: int) -> list[Effect]:
        """What came of a try for the mate that the job had before it joined its group."""
        starts = event.allocation is not None and job.state is QUEUED
        started = self.grouping.handle(job, StartedUnasked(job.id, event.allocation), now) if starts else []
        return started + self.incoming.tried(job, event, now)

    def resized(self, event: SizeChanged) -> None:
        """A running job has another allocation."""
        if (job := self.jobs.get(event.job)) is not None:
            job.allocation = event.allocation
            self._changed[job.id] = None

    def yield_again(self, job: JobId, now: int) -> list[Effect]:
        """A ready job yields without asking: the shell knows that its mates would answer as they have before."""
        ready = self.jobs[job]
        ready.state = READY
        return self.allocations.pass_over(ready, now, Why.MATE_QUEUING)

    def awaits(self, job: PairedJob, request: Request) -> bool:
        """Whether an answer to this request of the job still matters."""
        if isinstance(request, SettleStart):  # also while a RunJob has come between
            return self.slots.is_kept_by(job, request)
        return (job.call is request or job.call == request) and not self.slots.is_planning(job)

    def could_not_start(self, answer: Answer) -> bool:
        """Whether the answer says that a queued job could not be started for its mate."""
        request, reply = answer.request, answer.answer
        if not isinstance(request, MutatingRequest) or not isinstance(reply, MateTried) or reply.started:
            return False
        is_mate = self.mates.is_mate(answer.peer, request.caller, request.job)
        return is_mate and self.jobs[request.job].state is QUEUED

    def _call_beside(self, job: PairedJob, now: int) -> list[Effect]:
        """The calls that a job makes between its RunJobs; none while it awaits an answer."""
        if job.call is not None or job.state not in (QUEUED, HOLDING):
            return []
        if job.in_doubt:
            return self.outgoing.make_void(job, now)
        return self.proposing.keep(job, now) if job.slot is not None and job.state is QUEUED else []

    def _row(self, job: PairedJob, kind: type) -> Transition:
        transition = self._rows[kind][job.state]
        if transition is None:
            raise IllegalEvent(f"{kind.__name__} while job {job.id} is {job.state.name}")
        return transition

    # The tables

    def _transitions(self) -> Table:
        """(state of a job, kind of event) -> what happens.

        Late answers and stale timers are ignored; anything else that is not here is illegal.
        """
        outgoing, incoming, links, allocations = self.outgoing, self.incoming, self.links, self.allocations
        proposing, bookings = self.proposing, self.bookings
        return {
            **_rows(links.linked, Linked, QUEUED, READY, HOLDING),
            **_rows(links.unlinked, Unlinked, QUEUED, READY, HOLDING),
            **_rows(outgoing.run_job, Ready, QUEUED),
            **_rows(outgoing.mate_id, MateJobId, READY),
            **_rows(outgoing.mate_status, MateStatus, READY),
            **_rows(outgoing.mate_started, MateStarted, READY),
            **_rows(outgoing.mate_tried, MateTried, READY),
            **_rows(outgoing.call_failed, CallFailed, READY),
            **_rows(outgoing.retry, RetryDue, READY),
            **_rows(outgoing.retry_of_holding, RetryDue, HOLDING),
            **_rows(outgoing.mate_id_of_holding, MateJobId, HOLDING),
            **_rows(outgoing.call_of_holding_failed, CallFailed, HOLDING),
            **_rows(outgoing.patience_over, PatienceOver, QUEUED, READY, HOLDING),
            **_rows(outgoing.heard, MateHeardOf, *WAITING, RUNNING, *ENDED),
            **_rows(incoming.tried, Tried, *WAITING, RUNNING, *ENDED),
            **_rows(proposing.may_be_earlier, MayBeEarlier, QUEUED),
            **_rows(ForWhom(proposing.quoted, bookings.quoted), Quoted, *WAITING, RUNNING, *ENDED),
            **_rows(ForWhom(proposing.booked, bookings.booked), Booked, *WAITING, RUNNING, *ENDED),
            **_rows(ForWhom(proposing.at_slot.claimed, bookings.claimed), Claimed, *WAITING, RUNNING, *ENDED),
            **_rows(proposing.proposed, Proposed, QUEUED, READY),
            **_rows(proposing.settled, Settled, *WAITING),
            **_rows(proposing.at_slot.due, SlotDue, QUEUED, READY, HOLDING),
            **_rows(proposing.failed, CallFailed, QUEUED),
            **_rows(bookings.lapsed, SlotLapsed, QUEUED, READY, HOLDING),
            **_rows(outgoing.retry, RetryDue, QUEUED),
            **_rows(allocations.started, StartedUnasked, QUEUED, READY, HOLDING),
            **_rows(allocations.requeued, Requeued, RUNNING),
            **_rows(allocations.release, ReleaseDue, HOLDING),
            **_rows(allocations.lose_nodes, NodesLost, READY, HOLDING),
            **_rows(allocations.finished, Finished, QUEUED, READY, HOLDING, RUNNING),
            **_rows(self.telling.handle, TellDue, *WAITING, RUNNING, *ENDED),
            **_rows(ignore, REPLIES, QUEUED, RUNNING, *ENDED),
            **_rows(ignore, (*ABOUT_SLOTS, CallFailed), RUNNING, *ENDED),
            **_rows(ignore, (*REPLIES[1:], Proposed), HOLDING),
            **_rows(ignore, (RetryDue, SlotDue, SlotLapsed), RUNNING, *ENDED),
            **_rows(outgoing.made_void, MateStarted, QUEUED, HOLDING),
            **_rows(ignore, ReleaseDue, QUEUED, READY, RUNNING, *ENDED),
            **_rows(ignore, PatienceOver, RUNNING, *ENDED),
        }

    def _other_events(self) -> dict[type, Callable[[Any, int], list[Effect]]]:
        """Kind of event -> what happens, whatever the states of jobs."""
        asking = self.asking
        return {
            Asked: self.incoming.asked,
            Submitted: self.links.submitted,
            PeerThere: asking.peer_there,
            PeerAway: asking.peer_away,
            PeerLeaves: asking.peer_leaves,
            PeerDrains: asking.peer_drains,
            GraceOver: asking.grace_over,
            Drained: asking.drained,
            Resumed: asking.resumed,
        }

    # Restart and retirement

    def recover(self, job: PairedJob, since: int, now: int) -> list[Effect]:
        """Take up a job as it was recorded, submitted at `since`: its timers are set, its question is asked again.

        Holds keep their release times.
        """
        self.ledger.now = now
        self.mates.restore(job)
        self.members.restore(job)
        effects = self.telling.recover(job)
        if job.state.final:
            return effects
        if job.state is HOLDING:
            effects += self.allocations.recover_hold(job)
            self.ledger.changed[job.id] = None
        if job.state is not RUNNING and not job.alone:
            effects += self.allocations.patience(job, since)
        if job.group is not None:
            return effects + self.grouping.recover(job, now)
        if job.slot is not None:
            effects += self.slots.await_it(job, now)
        if job.wanted:
            effects.append(Want(job.id))
        return effects + self.outgoing.recover_call(job, now) + self._call_beside(job, now)

    def forget(self, job: PairedJob) -> None:
        """Drop a job that has ended, and the answer that its mate got. Both may be recovered later."""
        self.mates.forget(job)
        self.members.leave(job)
        self.answers.forget(job)
        self.bookings.forget(job)
        self.grouping.promises.forget(job)
        self.incoming.trying.pop(job.id, None)
        self.slots.plans.pop(job.id, None)


def _rows(transition: Transition, kinds: type | tuple[type, ...], *states: JobState) -> Table:
    each = kinds if isinstance(kinds, tuple) else (kinds,)
    return {(state, kind): transition for state in states for kind in each}
