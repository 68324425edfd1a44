"""What leaves a domain in lock-step: calls, orders and news, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

from cosched.core.effects import Call, SetTimer
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    Failure,
    Found,
    JobId,
    MateJobId,
    Reply,
    Request,
    TellMember,
    has_changed,
    may_have_dropped_slot,
)
from cosched.service.domain.changes import Cancel, Changes, Order, Preempt
from cosched.service.outside import ServiceOutside
from cosched.service.peers.outcomes import ASKING
from cosched.service.peers.peers import CallError, PeerClients
from cosched_adapters.launcher import PlayingLauncher, Told
from cosched_adapters.replay_time import SharedTime


@dataclass(slots=True)
class CallNotes:
    """Whether a call has failed that should not, and which links a script has cut, so that calls fail."""

    problem: str = ""
    cut: set[Domain] = field(default_factory=set)


class NotingClients(PeerClients):
    """Clients that note whether their calls fail."""

    def __init__(self, notes: CallNotes, *peers: Any) -> None:
        """`peers`: the arguments of PeerClients."""
        super().__init__(*peers)
        self._notes = notes

    async def call(self, peer: Domain, request: Request) -> Reply:
        """See PeerClients. That a peer has to ask first is an answer, as in a simulation."""
        if peer in self._notes.cut:
            raise CallError(Failure.UNREACHABLE, "the link is cut by the script")
        try:
            return await super().call(peer, request)
        except CallError as error:
            if error.reason == ASKING:
                return MateJobId(Found.BUSY, None)
            self._notes.problem = f"{peer}: {error.problem}"
            raise


class PacedOutside(ServiceOutside):
    """Calls leave one after the other; what follows from an answer is done before the next one leaves.

    Whoever has taken a turn waits for `settled`, without a pause before it. News waits for its phase (replay.proto).
    """

    def __init__(self, manager: PlayingLauncher, time: SharedTime, *parts: Any) -> None:
        """`parts`: the arguments of ServiceOutside."""
        super().__init__(*parts)
        self.changed: set[Domain] = set()  # whose schedules our calls have changed, or may have
        self._manager, self._time = manager, time
        self.fresh: list[Call] = []  # of the last turn
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()  # by its number among that of all domains
        self._last_call: Call | None = None  # of the present turn, but for news
        self._before: dict[int, Call] = {}  # the call behind which news stands in its turn; by identities
        self._behind: dict[int, list[Callable[[], None]]] = {}  # what is noted behind a call, by its identity
        self._domain.decisions.tell_too(Call, self._note_call)
        self._changed_by_news: set[Domain] = set()  # since that was told last; this one if it has heard anything

    def call(self, call: Call) -> None:
        """See `turns.Outside`."""
        if not self._is_news(call):
            self._send(call)
        elif (before := self._before.pop(id(call), None)) is not None:  # that may have news, too
            self._behind.setdefault(id(before), []).append(partial(self._note, partial(self._send, call)))
        else:
            self._note(partial(self._send, call))

    def _send(self, call: Call) -> None:
        self.fresh.append(call)
        self._last_call = None

    def order(self, order: Order) -> None:
        """See `turns.Outside`. Whoever waits for an answer waits for all that follows."""
        if isinstance(order, Cancel):
            self._note(partial(self._end, order.job))
        elif self._is_news(order):
            self._note(partial(self._requeue, order))
        else:
            self._give(order)

    def _give(self, order: Order) -> None:
        self.tasks.run(self._order(order, pause=0))

    def wake_at(self, moment: float) -> None:
        """Wait for the conductor's time."""

    def _moment(self, timer: SetTimer) -> float:
        """Return when a timer is due: as in a simulation."""
        return timer.at

    async def settled(self, *, of_news: bool = False) -> None:
        """Carry out the calls of the last turn, and all that follows from them."""
        if of_news:
            self.changed.clear()
        await self._carry_out()
        await self.tasks.settled()
        while self.fresh:  # since orders were carried out
            await self._carry_out()
            await self.tasks.settled()
        if of_news:
            self._changed_by_news |= {self._domain.name, *self.changed}

    # Events

    def tell_all(self) -> None:
        """From now on the manager notes what happens to jobs, in the order of a simulation."""
        decisions = self._domain.decisions
        self._domain.questions.all_in_turns = True
        for kind in get_args(Told):
            decisions.tell_too(kind, self._note_change)

    # The order of a turn

    def _note_call(self, call: Call) -> None:
        if not self._is_news(call):
            self._last_call = call
        elif self._last_call is not None:
            self._before[id(call)] = self._last_call

    def _note_change(self, change: Told) -> None:
        """A change that stands behind a call in its turn comes after all that follows from that."""
        group = self._domain.core.jobs[change.job].group
        is_pair = group is not None and group.is_pair
        note = partial(self._manager.noted, change, linked=group is not None, of_pair=is_pair)
        if self._last_call is None:
            note()
        else:
            self._behind.setdefault(id(self._last_call), []).append(note)

    # News

    def has_news(self, changes: Changes) -> bool:
        """Return whether there is news of any domain, or will be when these changes have been recorded."""
        return self._time.has_news or any(map(self._is_news, (*changes.calls, *changes.orders)))

    def _is_news(self, change: Call | Order) -> bool:
        """Return whether it is heard, or done, when the events of this instant are over."""
        if isinstance(change, Preempt):
            return (record := self._domain.jobs.get(change.job)) is not None and record.job.again
        return isinstance(change, Cancel) or (isinstance(change, Call) and isinstance(change.request, TellMember))

    def _note(self, act: Callable[[], None]) -> None:
        self._waiting.append((self._time.number_news(), act))

    async def news_comes(self) -> None:
        """Our news comes, as far as that of other domains is not before it."""
        while self._waiting and self._time.is_next(self._waiting[0][0]):
            _, act = self._waiting.popleft()
            self._time.news_comes()
            act()
            await self.settled()
            self.changed.add(self._domain.name)
        self.changed |= self._changed_by_news
        self._changed_by_news.clear()

    def _answered(self, call: Call, reply: Reply) -> None:
        """See ServiceOutside. That news has been heard is news, too."""
        answered = partial(super()._answered, call, reply)
        if self._is_news(call):
            self._note(answered)
        else:
            answered()

    def _end(self, job: JobId) -> None:
        """Note that a job ends since others have, or its patience has: at once, as it does nothing."""
        self._domain.end(job, JobState.CANCELLED)
        self._manager.stop(job, completed=self._domain.core.jobs[job].state is JobState.COMPLETED)

    def _requeue(self, order: Order) -> None:
        """Note that a run ends, and its job is queued again with another one."""
        self._manager.begins_anew(order.job)
        self._give(order)

    def _received(self, call: Call, sent: Request, reply: Reply) -> Reply:
        if has_changed(call.request, reply):
            self.changed.add(call.peer)
        elif may_have_dropped_slot(call.request, reply):
            self.changed.update(self.instants.others(call.job))
        heard = super()._received(call, sent, reply)
        if self._manager.tells and not isinstance(call.request, TellMember):
            self._manager.called(call, heard)
        return heard

    async def _carry_out(self) -> None:
        calls, self.fresh = self.fresh, []
        for call in calls:
            await self._call(call)
            await self._carry_out()
            for note in self._behind.pop(id(call), ()):
                note()
