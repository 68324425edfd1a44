"""Carries out what a live domain decides, once the turn is recorded: calls, launches, timers, news."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence

from cosched.core.effects import Answer, Call, ClearTimer, SetTimer, Timer
from cosched.core.events import CallFailed
from cosched.core.protocol import (
    Domain,
    GroupProposed,
    JobId,
    MateStarted,
    MateStatus,
    MateTried,
    ProposalOutcome,
    Proposed,
    ProposeGroupStart,
    ProposeStart,
    Reply,
    Request,
    SettleGroupStart,
    StartJob,
    TryStartMate,
)
from cosched.service.domain.changes import Order
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.watching import Watchers
from cosched.service.manager.runner import Runner, over
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.store import EventRecord
from cosched.service.store.durability import Durability
from cosched.service.tasks import Tasks
from cosched.service.timers import Timers

PATIENCE = 0.25  # seconds that a scheduling iteration waits for one job's answers
SPREAD = 0.5  # seconds over which actions are spread that two domains would else do at the same moment
MAX_DOUBLINGS = 6  # of SPREAD
TRY_AGAIN = 1.0  # seconds between attempts to write to the database

_LOG = logging.getLogger(__name__)


class ServiceOutside:
    """`turns.Outside` of a service."""

    def __init__(
        self,
        domain: LiveDomain,
        peers: PeerClients,
        agreed: AgreedStart,
        runner: Runner,
        timers: Timers,
        watchers: Watchers,
        durability: Durability | None,
        fail: Callable[[BaseException], None],
    ) -> None:
        """Without `durability` nothing waits for the disk: after a power failure a replay in lock-step is run again."""
        self._domain = domain
        self._peers = peers
        self._agreed = agreed
        self._runner = runner
        self._timers = timers
        self._watchers = watchers
        self._durability = durability
        self._fail = fail
        self._clock = domain.clock
        self._metrics = domain.metrics
        self._loop = asyncio.get_running_loop()
        self.tasks = Tasks(fail)  # calls and orders: they are recorded, and resumed at the next start
        self._stalled = ""  # the problem that was last logged
        self._patience: tuple[JobId, asyncio.TimerHandle] | None = None
        self._look_at: float | None = None

    # Calls

    def call(self, call: Call) -> None:
        """See the protocol."""
        self.tasks.run(self._call(call))

    async def _call(self, call: Call) -> None:
        began, kind = self._loop.time(), type(call.request).__name__
        try:
            sent = self._sent(call)
            reply = await self._peers.call(call.peer, sent)
        except CallError as error:
            self._metrics.peer_call(call.peer, kind, error.failure, self._loop.time() - began)
            _LOG.warning("job %s: %s to %s: %s: %s", call.job, kind, call.peer, error.failure, error.problem)
            self._domain.calls.failed(call, CallFailed(call.job, call.request, error.failure, call.peer), error.problem)
        else:
            self._metrics.peer_call(call.peer, kind, "answered", self._loop.time() - began)
            self._domain.calls.answered(call, self._received(call, sent, reply))
        finally:
            self._agreed.over(call.job)

    def _sent(self, call: Call) -> Request:
        """Return the request with times by the peer's clock, and with the start that we propose."""
        request = call.request
        if isinstance(request, TryStartMate | ProposeGroupStart | SettleGroupStart):
            request = request._replace(hold_until=self._clock.to_wall(request.hold_until))
        if isinstance(request, ProposeStart):
            not_before, only_before = (
                self._agreed.there(call.peer, self._clock.to_wall(instant))
                for instant in (request.not_before, request.only_before)
            )
            return request._replace(not_before=not_before, only_before=only_before)
        if isinstance(request, ProposeGroupStart):
            return self._proposed_to_group(call, request)
        if isinstance(request, SettleGroupStart):
            return request._replace(start_at=self._agreed.settled_there(call.peer, request.start_at))
        if isinstance(request, (TryStartMate, StartJob)):
            return request._replace(start_at=self._agreed.proposal(call.peer, call.job))
        return request

    def _proposed_to_group(self, call: Call, request: ProposeGroupStart) -> ProposeGroupStart:
        """Return the proposal with the instants for which it asks, or, if it is for now, with a start."""
        if request.not_before is None:
            return request._replace(start_at=self._agreed.group_proposal(call.peer, self._others(call.job)))
        not_before, only_before, instant = (
            self._agreed.there(call.peer, self._clock.to_wall(at))
            for at in (request.not_before, request.only_before, request.instant or 0)
        )
        return request._replace(not_before=not_before, only_before=only_before, instant=instant or None)

    def _received(self, call: Call, sent: Request, reply: Reply) -> Reply:
        """Return the reply with times by this domain's clock."""
        peer = call.peer
        if isinstance(reply, Proposed) and reply.at is not None:  # whatever we know of the peer's clock by now
            assert isinstance(call.request, ProposeStart)
            assert isinstance(sent, ProposeStart)
            return reply._replace(at=call.request.not_before + reply.at - sent.not_before)
        if isinstance(reply, MateStatus) and reply.started_at is not None:
            started_at = self._clock.from_wall(self._agreed.here(peer, reply.started_at))
            return reply._replace(started_at=min(started_at, self._clock.now()))  # the clock's offset may be unknown
        if isinstance(reply, (MateTried, MateStarted)) and reply.started:
            start_at = self._agreed.heard(peer, reply.start_at)
            self._metrics.pair_starts["at_once" if start_at is None else "agreed"].inc()
            return reply._replace(start_at=start_at)
        if isinstance(reply, GroupProposed):
            return self._received_vote(call, sent, reply)
        if isinstance(reply, ProposalOutcome):
            return reply._replace(start_at=self._agreed.heard(peer, reply.start_at))
        return reply

    def _received_vote(self, call: Call, sent: Request, reply: GroupProposed) -> GroupProposed:
        """Return the reply to a proposal to a group with times by this domain's clock."""
        start_at = self._agreed.group_heard(call.peer, reply.start_at, self._others(call.job))
        assert isinstance(call.request, ProposeGroupStart)
        assert isinstance(sent, ProposeGroupStart)
        if reply.earliest is None or call.request.not_before is None or sent.not_before is None:
            return reply._replace(start_at=start_at, earliest=None)
        earliest = call.request.not_before + reply.earliest - sent.not_before  # as of `Proposed`
        return reply._replace(start_at=None, earliest=earliest)

    def _others(self, job: JobId) -> tuple[Domain, ...]:
        """The domains of a job's mate, or of the other members of its group."""
        known = self._domain.core.jobs.get(job)
        return known.peers if known is not None else ()

    async def settled(self) -> None:
        """Wait for nothing: a peer is answered, whatever follows. A replay in lock-step waits for all that follows."""

    def answer(self, answer: Answer) -> None:
        """See the protocol."""
        self._domain.questions.late_answers.tell(answer)

    # Jobs

    def order(self, order: Order) -> None:
        """See the protocol."""
        self.tasks.run(self._runner.order(order))

    # Timers

    def set_timer(self, timer: SetTimer) -> None:
        """See the protocol."""
        self._timers.set(f"{timer.timer} {timer.job}", self._due(timer), lambda: self._domain.timer_due(timer))

    def _due(self, timer: SetTimer) -> float:
        if timer.timer is Timer.RELEASE:
            return _spread(timer.at)
        if timer.timer is not Timer.SLOT:
            return timer.at
        instant = self._clock.to_wall(timer.at)
        return timer.at + max((self._agreed.wait(peer, instant) for peer in self._others(timer.job)), default=0.0)

    def clear_timer(self, timer: ClearTimer) -> None:
        """See the protocol."""
        self._timers.clear(f"{timer.timer} {timer.job}")

    def awaits(self, job: JobId) -> None:
        """See the protocol."""
        if self._patience is not None:
            awaited, handle = self._patience
            if awaited == job and not handle.cancelled() and handle.when() > self._loop.time():
                return
            handle.cancel()
        self._patience = job, self._loop.call_later(PATIENCE, self._domain.go_on, job)

    def look_again(self, at: int, in_vain: int) -> None:
        """See the protocol."""
        look_at = _spread(at, 2 ** min(in_vain, MAX_DOUBLINGS))
        if self._look_at is None or look_at < self._look_at:
            self._look_at = look_at
            self._timers.set("look again", look_at, self._look)

    def _look(self) -> None:
        self._look_at = None
        self._domain.look()

    # News

    def happened(self, events: Sequence[EventRecord]) -> None:
        """See the protocol."""
        self._watchers.tell(events)
        for job in over(events):
            self.tasks.run(self._runner.forget(job))

    def when_durable(self, commit: int, act: Callable[[], None], *, hurry: bool = True) -> None:
        """See the protocol."""
        if self._durability is None:
            act()
        else:
            self._durability.when_durable(commit, act, hurry=hurry)

    def stalled(self, problem: str) -> None:
        """See the protocol."""
        if problem != self._stalled:  # log it once, not at each attempt
            self._stalled = problem
            _LOG.error("stalled: %s; nothing is answered until it can be written", problem)
        self._loop.call_later(TRY_AGAIN, self._try_again)

    def _try_again(self) -> None:
        if self._domain.turns.try_again():
            self._stalled = ""
            _LOG.warning("the database can be written again")

    def broken(self, error: BaseException) -> None:
        """See the protocol."""
        self._fail(error)


def _spread(instant: int, times: int = 1) -> float:
    """Return a random moment within this instant, or within `times` as long a span after it.

    If two domains ended their holds, or looked at their queues, at the same moment, each would find the other's nodes
    taken by a job that asks for its own mate. They would repeat this for ever.
    """
    return instant + random.uniform(0.0, SPREAD * times)
