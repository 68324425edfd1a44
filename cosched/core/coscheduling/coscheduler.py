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

The parts, each of which knows only those before it: `ledger` (the jobs and their states), `names`, with `asked_early`
(who starts with whom), `peers` (who is there), `slots` (agreed instants), `allocations` (start, hold, yield, release),
`asking` (when jobs ask), `answers` (what peers were answered), `agreeing` (the slots that our jobs propose), `telling`
(until all know), `algorithm1` (how a start now is proposed to a mate), `proposing` (how it is proposed to more),
`successors` (who comes in the place of one that has ended), `gathering` (what our jobs ask), `following` (when
running jobs end with others), `hearing` (what they hear of others), `reserving` and `promises` (what they promise
others), `links` (what owners say), `incoming` (what peers ask), `recovering` (what follows a restart).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

from cosched.core import events
from cosched.core.allocation import SizeChanged
from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, RUNNING, Allocations
from cosched.core.coscheduling.answers import Answers
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.following import Following
from cosched.core.coscheduling.hearing import Hearing
from cosched.core.coscheduling.incoming import Incoming
from cosched.core.coscheduling.ledger import IllegalEvent, Ledger, PairedJob, always, membership
from cosched.core.coscheduling.links import Links
from cosched.core.coscheduling.names import Names, never
from cosched.core.coscheduling.owners import SAME_NAMES, Owners
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.recovering import Recovering
from cosched.core.coscheduling.slots import Slots
from cosched.core.coscheduling.starts.agreeing import Agreeing
from cosched.core.coscheduling.starts.algorithm1 import Algorithm1
from cosched.core.coscheduling.starts.gathering import Gathering
from cosched.core.coscheduling.starts.promises import Promises
from cosched.core.coscheduling.starts.proposing import Proposing
from cosched.core.coscheduling.starts.reserving import Reserving
from cosched.core.coscheduling.starts.telling import Telling
from cosched.core.coscheduling.successors import Successors
from cosched.core.effects import Effect
from cosched.core.job import WAITING, JobState, may_become
from cosched.core.protocol import (
    Domain,
    GetMateJobId,
    GetMateStatus,
    GetMember,
    GetProposal,
    JobId,
    ProposeGroupStart,
    Request,
    SettleGroupStart,
    StartJob,
    TellMember,
    TryStartMate,
)
from cosched.core.settings import CoschedulingSettings
from cosched.core.story import What, Why

ENDED = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)
ALL = (*WAITING, RUNNING, *ENDED)
QUESTIONS = (GetMateJobId, GetMember, GetMateStatus)
ALGORITHM_1 = (TryStartMate, StartJob)  # its calls that change something

Transition = Callable[[PairedJob, Any, int], list[Effect]]
Table = dict[tuple[JobState, type], Transition]


class Coscheduler:
    """Coscheduling in one policy domain. `owners`, `adopting`, `held_back`: see Names; the rest: see Ledger."""

    def __init__(
        self,
        domain: Domain,
        nodes: int,
        settings: CoschedulingSettings,
        *,
        owners: Owners = SAME_NAMES,
        adopting: Collection[Domain] = (),
        held_back: Callable[[JobId], bool] = never,
        story: bool = True,
        known_as: Callable[[JobId], str] = str,
        may_hold: Callable[[JobId, int], bool] = always,
        from_wall: Callable[[int], int] = int,
    ) -> None:
        self.ledger = ledger = Ledger(domain, nodes, settings, story, known_as, may_hold, from_wall)
        self.jobs = ledger.jobs
        self._changed, self._moved = ledger.changed, ledger.moved
        self.names = names = Names(ledger, owners, frozenset(adopting), held_back)
        self.peers = peers = Peers(ledger)
        self.slots = slots = Slots(ledger)
        self.allocations = allocations = Allocations(ledger, peers, slots)
        self.asking = asking = Asking(ledger, peers, allocations)
        self.answers = answers = Answers(ledger)
        self.agreeing = agreeing = Agreeing(ledger, peers, allocations, asking, slots)
        self.telling = telling = Telling(ledger)
        self.algorithm1 = algorithm1 = Algorithm1(ledger, peers, allocations, asking, agreeing, telling)
        self.proposing = proposing = Proposing(ledger, allocations, agreeing, telling)
        self.successors = successors = Successors(ledger, allocations)
        self.gathering = gathering = Gathering(
            ledger, names, peers, allocations, asking, agreeing, proposing, algorithm1, successors
        )
        self.following = Following(ledger)
        self.hearing = hearing = Hearing(ledger, asking, self.following)
        self.reserving = reserving = Reserving(ledger, allocations, slots, agreeing)
        self.promises = promises = Promises(
            ledger, names, peers, allocations, asking, gathering, proposing, telling, reserving
        )
        self.links = Links(ledger, names, allocations, asking, gathering, promises, telling)
        self.incoming = Incoming(ledger, names, allocations, answers, gathering, promises, hearing, successors)
        self.recover = Recovering(
            ledger, names, allocations, asking, gathering, algorithm1, promises, telling, self.following, hearing
        ).recover
        self.make_tables()

    @property
    def settings(self) -> CoschedulingSettings:
        """What the site has configured."""
        return self.ledger.settings

    def handle(self, event: events.Event, now: int) -> list[Effect]:
        """Carry out one event at instant `now`. The effects are to be carried out in their order."""
        self.ledger.now = now
        kind = type(event)
        if (rows := self._rows.get(kind)) is None:
            return self.others[kind](event, now)
        id: JobId = event.job  # type: ignore[union-attr]  # the rows are those of a job's events
        if (job := self.jobs.get(id)) is None:
            raise IllegalEvent(f"{kind.__name__} of unknown job {id}")
        effects = rows[job.state](job, event, now)
        self._changed[id] = None
        if self._moved or job.hinted:
            effects = effects + self._follow(job, now)
        return effects + self.algorithm1.make_void(job, now) if job.in_doubt else effects

    def _follow(self, job: PairedJob, now: int) -> list[Effect]:
        """Tell others of a job that runs now, or runs no more. It asks, if it has heard that others have changed."""
        before = self._moved.pop(job.id, job.state)
        told: list[Effect] = []
        if job.state is not before:
            told = self.telling.changed(job, before, now)
            if job.state is RUNNING:
                told = told + self.following.begins(job, now)
        return told + self.hearing.ask(job, now) if job.hinted else told

    def _asked(self, event: events.Asked, now: int) -> list[Effect]:
        """A peer's request; the job that it is about may start."""
        request = event.request
        effects = self._of_requests[type(request)](event.peer, request, now)
        job = self.jobs.get(getattr(request, "job", ""))
        return effects + self._follow(job, now) if job is not None and (self._moved or job.hinted) else effects

    def _peer_there(self, event: events.PeerThere, now: int) -> list[Effect]:
        """The peer is well: it hears what it has missed."""
        there = self.asking.heard_of(event.peer, now, itself=True) + self.following.peer_there(event.peer)
        return there + self.telling.tell_peer(event.peer) if self.ledger.telling else there

    def _answered(self, job: PairedJob, event: events.Answered, now: int) -> list[Effect]:
        """An answer; what it says of the peer follows. It may be about a group that the job has left."""
        event = event if event.peer else replace(event, peer=job.peer)
        told = self.telling.handle(job, event, now) if job.untold or job.news else []
        if (group := job.group) is None:
            return told
        request = event.request
        if group.checks and self._is_check(job, event.peer, request):
            return told + self.hearing.checked(job, event, now)
        is_open = group.asked.get(event.peer) is request  # the usual case
        if not is_open and not self.awaits(job, event.peer, request):
            return told
        if group.unanswered:
            group.unanswered -= {event.peer}
        followed = self._of_answers[type(request)](job, event, now)
        heard = self.asking.heard_of(event.peer, now) if self.ledger.settings.peer_grace else []
        return [*told, *followed, *heard] if told or heard else followed

    def _failed(self, job: PairedJob, event: events.CallFailed, now: int) -> list[Effect]:
        """No answer to a call."""
        event = event if event.peer else replace(event, peer=job.peer)
        told = self.telling.handle(job, event, now) if job.untold or job.news else []
        if job.group is not None and self._is_check(job, event.peer, event.request):
            return told + self.hearing.unchecked(job, event, now)
        if job.group is None or not self.awaits(job, event.peer, event.request):
            return told
        mutating = type(event.request) in ALGORITHM_1
        followed = (self.algorithm1 if mutating else self.gathering).failed(job, event, now)
        job.group.unanswered |= {event.peer}
        return [*told, *followed]

    @staticmethod
    def _is_check(job: PairedJob, peer: Domain, request: Request) -> bool:
        """Return whether this is what a job asks while it holds, or runs.

        Before it ran it may have asked the very same: that answer is out of date by now.
        """
        asked = membership(job).checks.get(peer)
        return asked is request or (asked == request and job.state is not RUNNING)

    def _voted(self, job: PairedJob, event: events.Answered, now: int) -> list[Effect]:
        """What another answers to a proposal: for a slot, or for now."""
        assert isinstance(event.request, ProposeGroupStart)
        of_slot = event.request.not_before is not None
        return (self.agreeing if of_slot else self.proposing).voted(job, event, now)

    def awaits(self, job: PairedJob, peer: Domain, request: Request) -> bool:
        """Return whether an answer to this request of the job, or that there is none, still matters.

        A question is known by its identity: a late answer to an earlier one of the same words is out of date.
        """
        kind = type(request)
        if kind in QUESTIONS:
            return job.group is not None and job.group.asked.get(peer) is request
        return job.call == request if kind in ALGORITHM_1 else kind is not TellMember

    def _leave(self, follow: Transition, job: PairedJob, event: Any, now: int) -> list[Effect]:
        """What follows for any job, once this one asks and promises no more."""
        left = [*self.gathering.stop_asking(job, now), *self.promises.end(job)]
        return left + follow(job, event, now)

    def _finished(self, job: PairedJob, event: events.Finished, now: int) -> list[Effect]:
        if not event.how.final or not may_become(job.state, event.how):
            raise IllegalEvent(f"{event.how.name} while job {job.id} is {job.state.name}")
        event = self.following.finished(job, event)
        return self._leave(self.allocations.finished, job, event, now) + self.following.ends(job)

    def _requeued(self, job: PairedJob, event: events.Requeued, now: int) -> list[Effect]:
        if job.group is not None:
            job.group.started_by = ""
        ordered = job.ending is not None
        event, cancelled = self.following.requeued(job, event)
        effects = [*self.allocations.requeued(job, event, now), *cancelled, *self.following.ends(job)]
        if ordered and job.is_pair:  # because of news, which is none itself; a third member may not have heard them
            del self._moved[job.id]
        return effects

    def _runs_on(self, job: PairedJob, _: events.RunsOn, now: int) -> list[Effect]:
        if not self.following.runs_on(job):
            return []
        noted = self.ledger.note(job, What.RUNS_ON, Why.NOT_REQUEUED)
        return noted + self.telling.tell_news(job, membership(job).jobs, now)  # they wait for it

    def resized(self, event: SizeChanged) -> SizeChanged:
        """A running job has another allocation; return by how many nodes it is larger."""
        if (job := self.jobs.get(event.job)) is None:
            return event
        more, job.allocation = event.allocation.nodes - job.nodes, event.allocation
        self._changed[job.id] = None
        return replace(event, more=more)

    # The tables

    def make_tables(self) -> None:
        """Make the tables, which follow from the parts."""
        self.table = self._transitions()
        self.others = self._other_events()  # kind of event -> what happens, whatever the states of jobs
        self._of_answers: dict[type, Transition] = {  # kind of request -> what follows from its answer
            GetMateJobId: self.gathering.found,
            GetMember: self.gathering.found,
            GetMateStatus: self.gathering.told,
            TryStartMate: self.algorithm1.tried,
            StartJob: self.algorithm1.started,
            ProposeGroupStart: self._voted,
            SettleGroupStart: self.agreeing.kept,
            GetProposal: self.promises.told,
        }
        self._of_requests = self.incoming.requests()
        kinds = {kind for _, kind in self.table}
        self._rows = {kind: [self.table.get((state, kind), _illegal) for state in JobState] for kind in kinds}

    def _transitions(self) -> Table:
        """(state of a job, kind of event) -> what happens. What is late is ignored; what has no row here is illegal."""
        allocations, gathering, agreeing, promises = self.allocations, self.gathering, self.agreeing, self.promises
        return {
            **_rows(self.links.linked, events.Linked, *WAITING),
            **_rows(self.links.unlinked, events.Unlinked, *WAITING),
            **_rows(self.links.heard, events.MateHeardOf, *ALL),
            **_rows(gathering.run_job, events.Ready, QUEUED),
            **_rows(self._answered, events.Answered, *ALL),
            **_rows(self._failed, events.CallFailed, *ALL),
            **_rows(gathering.retry, events.RetryDue, *WAITING),
            **_rows(self.telling.handle, events.TellDue, *ALL),
            **_rows(self.asking.patience_over, events.PatienceOver, *WAITING),
            **_rows(self.hearing.check, events.CheckDue, HOLDING),
            **_rows(self.hearing.successor_due, events.SuccessorDue, *WAITING),
            **_rows(self.following.ask_again, events.CheckDue, RUNNING),
            **_rows(_ignore, events.CheckDue, QUEUED, READY, *ENDED),
            **_rows(self.incoming.tried, events.Tried, *ALL),
            **_rows(promises.tried, events.TriedReady, *ALL),
            **_rows(promises.lease_over, events.LeaseOver, *WAITING),
            **_rows(promises.release, events.ReleaseDue, HOLDING),
            **_rows(agreeing.may_be_earlier, events.MayBeEarlier, QUEUED),
            **_rows(partial(_for_whom, agreeing.quoted, self.reserving.quoted), events.Quoted, *ALL),
            **_rows(partial(_for_whom, agreeing.booked, self.reserving.booked), events.Booked, *ALL),
            **_rows(partial(_for_whom, agreeing.at_slot.claimed, promises.tried), events.Claimed, *ALL),
            **_rows(agreeing.due, events.SlotDue, *WAITING),
            **_rows(agreeing.lapsed, events.SlotLapsed, *WAITING),
            **_rows(partial(self._leave, allocations.started), events.StartedUnasked, *WAITING),
            **_rows(partial(self._leave, allocations.lose_nodes), events.NodesLost, READY, HOLDING),
            **_rows(self._finished, events.Finished, *WAITING, RUNNING),
            **_rows(self._requeued, events.Requeued, RUNNING),
            **_rows(self._runs_on, events.RunsOn, RUNNING),
            **_rows(_ignore, events.RunsOn, *WAITING, *ENDED),
            **_rows(_ignore, events.ReleaseDue, QUEUED, READY, RUNNING, *ENDED),
            **_rows(_ignore, (events.RetryDue, events.LeaseOver, events.PatienceOver), RUNNING, *ENDED),
            **_rows(_ignore, (events.SlotDue, events.SlotLapsed, events.SuccessorDue), RUNNING, *ENDED),
        }

    def _other_events(self) -> dict[type, Callable[[Any, int], list[Effect]]]:
        asking = self.asking
        return {
            events.Asked: self._asked,
            events.Submitted: self.links.submitted,
            events.PeerThere: self._peer_there,
            events.PeerAway: asking.peer_away,
            events.PeerLeaves: asking.peer_leaves,
            events.PeerDrains: asking.peer_drains,
            events.GraceOver: asking.grace_over,
            events.Drained: asking.drained,
            events.Resumed: asking.resumed,
        }

    # Retirement

    def forget(self, job: PairedJob) -> None:
        """Drop a job that has ended, and the answer that its mate got. Both may be recovered later."""
        self.names.forget(job)
        self.answers.forget(job)
        self.promises.forget(job)
        self.ledger.telling.pop(job.id, None)
        self.incoming.trying.pop(job.id, None)


def _illegal(job: PairedJob, event: events.Event, _: int) -> list[Effect]:
    raise IllegalEvent(f"{type(event).__name__} while job {job.id} is {job.state.name}")


def _ignore(job: PairedJob, event: object, now: int) -> list[Effect]:  # noqa: ARG001
    """Too late: nothing happens."""
    return []


def _for_whom(ours: Transition, of_peer: Transition, job: PairedJob, event: Any, now: int) -> list[Effect]:
    """Carry out an outcome that either our own proposal or a peer has asked for."""
    return (of_peer if event.for_peer else ours)(job, event, now)


def _rows(transition: Transition, kinds: type | tuple[type, ...], *states: JobState) -> Table:
    each = kinds if isinstance(kinds, tuple) else (kinds,)
    return {(state, kind): transition for state in states for kind in each}
