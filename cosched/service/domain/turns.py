"""Turns: what happens in a domain is written in one transaction, and only then acted upon.

A turn takes one event (a request, an answer, a timer, a report of the manager), carries the core's effects out in
memory, runs the scheduling that follows, writes all that changed in one transaction, and only then acts outside: calls
peers, starts jobs, sets timers, answers. So memory and database are in step after every turn, and a domain that is
killed at any point goes on where its last turn ended. If the transaction fails (a full disk) the domain is stalled:
nothing leaves it, requests are refused, and the same transaction is tried again until it succeeds.

A power failure may take the last turns back, until they have been brought to disk (`durability`). What leaves the
domain waits for that: answers, orders to the manager, news. Only calls to peers do not: no number of a call is used in
two lives of a domain, so one that is not on record any more is like one that was lost on its way. But no peer hears of
a new job before that is on disk: else its id could be given twice. Nor does it hear that a group starts: else a domain
that does not know of its own decision any more would tell others that it has dropped that start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import grpc

from cosched.core.coscheduling.ledger import IllegalEvent
from cosched.core.effects import Answer, Call
from cosched.core.protocol import JobId
from cosched.service.domain.changes import Changes, Journal, Order
from cosched.service.domain.decisions import Decisions
from cosched.service.metrics import Metrics
from cosched.service.store import EventRecord, Store, StoreError
from cosched.service.wire.errors import Refusal

_LOG = logging.getLogger(__name__)
_P = ParamSpec("_P")


class Outside(Protocol):
    """What is done for a domain outside its memory and its database, once a turn is on record."""

    def call(self, call: Call) -> None:
        """Send a request to a peer; `Calls.answered` or `Calls.failed` follows, once."""

    def order(self, order: Order) -> None:
        """Give the resource manager an order, such as to start a job. Of each start, `LiveDomain.end` follows, once."""

    def answer(self, answer: Answer) -> None:
        """Tell the peer that awaits it."""

    def wake_at(self, moment: float) -> None:
        """Call `LiveDomain.due` at that moment (FOREVER: never), instead of at the one that was told before."""

    def awaits(self, job: JobId) -> None:
        """Note that the scheduling iteration waits for this job's answers: call `LiveDomain.go_on` after a while."""

    def look_again(self, at: int, in_vain: int) -> None:
        """Call `LiveDomain.look` soon after that instant has begun, when the yields of this one are over.

        The more looks have been `in_vain`, the longer is the random wait: two domains may be in each other's way.
        """

    def happened(self, events: Sequence[EventRecord]) -> None:
        """Tell those who watch."""

    def when_durable(self, commit: int, act: Callable[[], None], *, hurry: bool = True) -> None:
        """Call `act` as soon as the store's first `commit` transactions are on disk: now, if they are.

        Without `hurry` it may wait a moment for what somebody else needs.
        """

    def stalled(self, problem: str) -> None:
        """Note that nothing can be written: call `Turns.try_again` in a while."""

    def broken(self, error: BaseException) -> None:
        """Report a fault in the middle of a turn: memory cannot be trusted any more; end the process."""


class Turns:
    """The turns of one domain. All methods are plain functions, to be called in one thread."""

    outside: Outside  # turns may be taken once it is there

    def __init__(self, store: Store, journal: Journal, decisions: Decisions, metrics: Metrics) -> None:
        self._store, self._journal = store, journal
        self._decisions, self._metrics = decisions, metrics
        self.problem = ""  # why the domain is stalled; empty if it is not
        self._backlog: list[Callable[[], None]] = []  # what came in meanwhile
        self._under_way = False

    @contextmanager
    def take(self) -> Iterator[Changes]:
        """Return a turn; what is done in the block is written and acted upon after it.

        Raises Refusal: nothing was done (the block's own, whose notes are dropped, or the domain is stalled), or, if
        its transaction fails, the outcome is unknown.
        """
        if self.problem:
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", f"the database cannot be written: {self.problem}")
        self._decisions.begin()
        self._under_way = True
        try:
            yield self._journal.changes
            self._decisions.settle()
        except Refusal:
            self._journal.changes = Changes()
            raise
        except BaseException as error:
            self.outside.broken(error)
            raise
        finally:
            self._under_way = False
        if not self._write():
            raise Refusal(grpc.StatusCode.INTERNAL, "INTERNAL", "the database cannot be written")
        self._act()

    @contextmanager
    def requested(self) -> Iterator[Changes]:
        """Return a turn whose block tells an event that a user requests: one that the rules do not allow is a Refusal.

        The block tells it before it changes anything: so nothing was done.
        """
        with self.take() as changes:
            try:
                yield changes
            except IllegalEvent as error:
                _LOG.error("a request is refused, which the rules do not allow: %s", error)
                said = f"the rules do not allow this just now: {error}; nothing was changed"
                raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "ILLEGAL", said) from error

    def happen(self, act: Callable[_P, None], *arguments: _P.args, **options: _P.kwargs) -> None:
        """Handle what comes from inside the process, in this turn or in its own; in a stalled domain it waits."""
        if self._under_way:
            act(*arguments, **options)
        elif self.problem:
            self._backlog.append(partial(act, *arguments, **options))
        else:
            with suppress(Refusal), self.take():  # stalled just now: what happened is kept, and will be written
                act(*arguments, **options)

    def _write(self) -> bool:
        changes = self._journal.changes
        if not changes.to_write:
            return True
        try:
            with self._metrics.commit.time():
                try:
                    changes.write(self._store)
                except StoreError as error:
                    if not error.full:
                        raise
                    changes.write(self._store)  # the store has made room, if it could
        except StoreError as error:
            self.problem = str(error)
            self._metrics.store_stalled.set(1)
            self.outside.stalled(self.problem)
            return False
        except BaseException as error:  # what was noted cannot be written, however often that is tried
            self.outside.broken(error)
            raise
        return True

    def _act(self) -> None:
        """Do outside what the turn has decided, now that it is on record."""
        changes, outside, written = self._journal.changes, self.outside, self._store.commits
        self._journal.changes = Changes()
        for at, in_vain in changes.looks:
            outside.look_again(at, in_vain)
        if changes.awaited is not None:
            outside.awaits(changes.awaited)
        outside.wake_at(changes.wake_at)
        for act, what, commit in (
            (outside.order, changes.orders, written),
            (outside.call, changes.calls, self._journal.calls_after),
            (outside.call, changes.decisions, written),
            (outside.answer, changes.replies, written),
        ):
            if what:
                outside.when_durable(commit, partial(_each, act, what))
        if changes.events:
            outside.when_durable(written, partial(outside.happened, changes.events), hurry=False)

    async def durable(self) -> None:
        """Wait until no power failure could take back what is known here now."""
        reached = asyncio.get_running_loop().create_future()
        self.outside.when_durable(self._store.commits, partial(_reach, reached))
        await reached

    def try_again(self) -> bool:
        """Write what could not be written; then what came in meanwhile happens. Whether it succeeded."""
        self.problem = ""
        if not self._write():
            return False
        self._metrics.store_stalled.set(0)
        self._act()
        backlog, self._backlog = self._backlog, []
        for happen in backlog:
            self.happen(happen)
        return True


class HasTurns(Protocol):
    """A part of a domain for which something happens."""

    turns: Turns  # the domain's


_Part = TypeVar("_Part", bound=HasTurns)


def in_turn(act: Callable[Concatenate[_Part, _P], None]) -> Callable[Concatenate[_Part, _P], None]:
    """Return a method that happens in the present turn, or in one of its own: see `Turns.happen`."""

    @wraps(act)
    def happen(part: _Part, /, *arguments: _P.args, **options: _P.kwargs) -> None:
        part.turns.happen(act, part, *arguments, **options)

    return happen


def _each(act: Callable[[Any], None], items: Iterable[Any]) -> None:
    for item in items:
        act(item)


def _reach(reached: asyncio.Future[None]) -> None:
    if not reached.done():  # who waited may have gone away
        reached.set_result(None)
