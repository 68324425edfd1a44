"""Carries out what a live domain decides, once the turn is recorded: calls, launches, timers, news."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence

from cosched.core.effects import Answer, Call, SetTimer, Timer
from cosched.core.events import CallFailed
from cosched.core.protocol import FOREVER, Failure, JobId, MutatingReply, Reply, Request, TellMember
from cosched.service.domain.changes import Order
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.watching import Watchers
from cosched.service.manager.runner import Runner
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.instants import Instants
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.peers.telling import MemberNews
from cosched.service.store import EventRecord
from cosched.service.store.durability import Durability
from cosched.service.tasks import Tasks
from cosched.service.timers import Timers
from cosched.v1.domain_pb2 import EVENT_KIND_ENDED

PATIENCE = 0.25  # seconds that a scheduling iteration waits for one job's answers
SPREAD = 0.5  # seconds over which actions are spread that two domains would else do at the same moment
MAX_DOUBLINGS = 6  # of SPREAD
ANSWERS_FIRST = 0.002  # seconds that an order to the resource manager waits for answers of the same turn
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
        self._domain, self._peers, self._agreed = domain, peers, agreed
        self.instants = Instants(domain, agreed)
        self._runner, self._timers = runner, timers
        domain.policy.timers.moment = self._moment
        self._watchers, self._durability, self._fail = watchers, durability, fail
        self._clock = domain.clock
        self._metrics = domain.metrics
        self._loop = asyncio.get_running_loop()
        self.tasks = Tasks(fail)  # calls and orders: they are recorded, and resumed at the next start
        self._news = MemberNews(domain, peers, self.tasks)
        self._stalled = ""  # the problem that was last logged
        self._patience: tuple[JobId, asyncio.TimerHandle] | None = None
        self._wakes_at: float = FOREVER
        self._look_at: float | None = None

    # Calls

    def call(self, call: Call) -> None:
        if isinstance(call.request, TellMember):
            self._news.tell(call)
        else:
            self.tasks.run(self._call(call))

    async def _call(self, call: Call) -> None:
        began, kind = self._loop.time(), type(call.request).__name__
        try:
            sent = self.instants.sent(call)
            reply = await self._peers.call(call.peer, sent)
        except CallError as error:
            self._metrics.peer_call(call.peer, kind, error.failure, self._loop.time() - began)
            said = "job %s: %s to %s has failed (%s): %s", call.job, kind, call.peer, error.failure, error.problem
            if error.failure is Failure.REFUSED:  # so are all jobs with mates there, again and again until it is mended
                self._domain.sparing_log.warning((call.peer, error.failure), *said)
            else:
                _LOG.warning(*said)
            self._domain.calls.failed(call, CallFailed(call.job, call.request, error.failure, call.peer), error.problem)
        else:
            self._metrics.peer_call(call.peer, kind, "answered", self._loop.time() - began)
            self._answered(call, self._received(call, sent, reply))
        finally:
            self._agreed.over(call.job)

    def _answered(self, call: Call, reply: Reply) -> None:
        self._domain.calls.answered(call, reply)

    def _received(self, call: Call, sent: Request, reply: Reply) -> Reply:
        """Return the peer's answer as this domain is to read it."""
        heard = self.instants.heard(call, sent, reply)
        if isinstance(heard, MutatingReply) and heard.started:
            self._metrics.pair_starts["at_once" if heard.start_at is None else "agreed"].inc()
        return heard

    async def settled(self, *, of_news: bool = False) -> None:
        """Wait for nothing: a peer is answered, whatever follows. A replay in lock-step waits for all that follows.

        `of_news`: what the peer has told is that members have changed.
        """

    def answer(self, answer: Answer) -> None:
        self._domain.questions.late_answers.tell(answer)

    # Jobs

    def order(self, order: Order) -> None:
        """See the protocol. A launch keeps all else waiting for a millisecond, so answers leave before it."""
        self.tasks.run(self._order(order, ANSWERS_FIRST))

    async def _order(self, order: Order, pause: float) -> None:
        await asyncio.sleep(pause)
        await self._runner.order(order)

    # Timers

    def wake_at(self, moment: float) -> None:
        if moment != self._wakes_at:
            self._wakes_at = moment
            self._timers.set("wake", moment, self._wake)

    def _wake(self) -> None:
        self._wakes_at = FOREVER
        if not self._domain.due():  # it was cleared in a turn that is not on record yet
            self.wake_at(self._domain.policy.timers.next())

    def _moment(self, timer: SetTimer) -> float:
        """Return when a timer is due: not when a peer does the same, and a slot not before it has come there, too."""
        if timer.timer is Timer.RELEASE:
            return _spread(timer.at)
        if timer.timer is not Timer.SLOT:
            return timer.at
        instant = self._clock.to_wall(timer.at)
        waits = (self._agreed.wait(peer, instant) for peer in self.instants.others(timer.job))
        return timer.at + max(waits, default=0.0)

    def awaits(self, job: JobId) -> None:
        if self._patience is not None:
            awaited, handle = self._patience
            if awaited == job and not handle.cancelled() and handle.when() > self._loop.time():
                return
            handle.cancel()
        self._patience = job, self._loop.call_later(PATIENCE, self._domain.go_on, job)

    def look_again(self, at: int, in_vain: int) -> None:
        look_at = _spread(at, 2 ** min(in_vain, MAX_DOUBLINGS))
        if self._look_at is None or look_at < self._look_at:
            self._look_at = look_at
            self._timers.set("look again", look_at, self._look)

    def _look(self) -> None:
        self._look_at = None
        self._domain.look()

    # News

    def happened(self, events: Sequence[EventRecord]) -> None:
        self._watchers.tell(events)
        for event in events:
            if event.kind == EVENT_KIND_ENDED:
                self.tasks.run(self._runner.forget(str(event.job)))

    def when_durable(self, commit: int, act: Callable[[], None], *, hurry: bool = True) -> None:
        if self._durability is None:
            act()
        else:
            self._durability.when_durable(commit, act, hurry=hurry)

    def stalled(self, problem: str) -> None:
        if problem != self._stalled:  # log it once, not at each attempt
            self._stalled = problem
            _LOG.error("stalled: %s; nothing is answered until it can be written", problem)
        self._loop.call_later(TRY_AGAIN, self._try_again)

    def _try_again(self) -> None:
        if self._domain.turns.try_again():
            self._stalled = ""
            _LOG.warning("the database can be written again")

    def broken(self, error: BaseException) -> None:
        self._fail(error)


def _spread(instant: int, times: int = 1) -> float:
    """Return a random moment within this instant, or within `times` as long a span after it.

    If two domains ended their holds, or looked at their queues, at the same moment, each would find the other's nodes
    taken by a job that asks for its own mate. They would repeat this for ever.
    """
    return instant + random.uniform(0.0, SPREAD * times)
