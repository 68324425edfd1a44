"""Turns: what happens in a domain is written in one transaction, and only then acted upon.

A turn takes one event (a request, an answer, a timer, a report of the manager), carries the core's effects out in
memory, runs the scheduling that follows, writes all that changed in one transaction, and only then acts outside: calls
peers, starts jobs, sets timers, answers. So memory and database are in step after every turn, and a domain that is
killed at any point goes on where its last turn ended. If the transaction fails (a full disk) the domain is stalled:
nothing leaves it, requests are refused, and the same transaction is tried again until it succeeds.

A power failure may take the last turns back, until they have been brought to disk (`durability`). What leaves the
domain waits for that: answers, orders to the manager, news. Only calls to peers do not: no number of a call is used in
two lives of a domain, so one that is not on record any more is like one that was lost on its way. But no peer hears of
a new job before that is on disk: else its id could be given twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import grpc

from cosched.core.effects import Call, ClearTimer, SetTimer
from cosched.core.protocol import JobId
from cosched.core.story import What
from cosched.service.clock import Clock
from cosched.service.domain.changes import Changes, Order
from cosched.service.domain.late_answers import LateAnswers
from cosched.service.domain.story import KINDS, Noted
from cosched.service.metrics import Metrics
from cosched.service.store import AuditRecord, EventRecord, JobRecord, Store, StoreError
from cosched.service.wire.errors import Refusal


class Outside(Protocol):
    """What is done for a domain outside its memory and its database, once a turn is on record."""

    def call(self, call: Call) -> None:
        """Send a request to a peer; `LiveDomain.answered` or `call_failed` follows, once."""

    def order(self, order: Order) -> None:
        """Tell the resource manager, as to start a job; `LiveDomain.ended` follows that, once."""

    def agreed_start(self, start_at: float | None, job: JobId) -> float | None:
        """When our `job` starts if a peer asks for it, proposing this instant; None: at once."""

    def set_timer(self, timer: SetTimer) -> None:
        """Call `LiveDomain.timer_due` at that instant."""

    def clear_timer(self, timer: ClearTimer) -> None:
        """Forget a timer."""

    def awaits(self, job: JobId) -> None:
        """The scheduling iteration waits for this job's answers: lose patience after a while (`go_on`)."""

    def look_again(self, at: int, in_vain: int) -> None:
        """Call `LiveDomain.look` soon after that instant has begun, when the yields of this one are over.

        Later, and by chance, the more looks have been `in_vain`: two domains may stand in each other's way.
        """

    def happened(self, events: Sequence[EventRecord]) -> None:
        """Tell those who watch."""

    def when_durable(self, commit: int, act: Callable[[], None], *, hurry: bool = True) -> None:
        """Call `act` as soon as the store's first `commit` transactions are on disk: now, if they are.

        Without `hurry` it may wait a moment for what somebody else needs.
        """

    def stalled(self, problem: str) -> None:
        """Nothing can be written: call `try_again` in a while."""

    def broken(self, error: BaseException) -> None:
        """A fault in the middle of a turn: memory cannot be trusted any more; end the process."""


class Turns:
    """The turns of one domain, and what they change. All methods are plain functions, to be called in one thread."""

    def __init__(self, store: Store, clock: Clock, outside: Outside, metrics: Metrics) -> None:
        self.store = store
        self.clock = clock
        self.metrics = metrics
        self.jobs: dict[JobId, JobRecord] = {}  # those that have not ended
        self.now = clock.now()
        self._outside = outside
        self._changes = Changes()
        self._sequence = store.last_sequence()
        self._calls_after = 0  # how many of the store's transactions must be on disk before a peer is called
        self._problem = ""  # why it is stalled
        self._backlog: list[Callable[[], None]] = []  # what came in meanwhile
        self.late_answers = LateAnswers()

    def _begin(self) -> None:
        """It is `now`, and a turn begins."""
        raise NotImplementedError

    def _settle(self) -> None:
        """The end of a turn: what follows from it happens, and records are brought up to date."""
        raise NotImplementedError

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn; what is done in the block is written and acted upon after it.

        Raises Refusal: nothing was done (the block's own, or the domain is stalled), or, if its transaction fails,
        the outcome is unknown.
        """
        if self._problem:
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", f"the database cannot be written: {self._problem}")
        self.now = self.clock.now()
        self._begin()
        try:
            yield
            self._settle()
        except Refusal:
            raise
        except BaseException as error:
            self._outside.broken(error)
            raise
        if not self._write():
            raise Refusal(grpc.StatusCode.INTERNAL, "INTERNAL", "the database cannot be written")
        self._act()

    def _inside(self, happen: Callable[[], None]) -> None:
        """A turn for what comes from inside the process; while the domain is stalled it waits."""
        if self._problem:
            self._backlog.append(happen)
            return
        try:
            with self.turn():
                happen()
        except Refusal:
            pass  # stalled just now: what happened is kept, and will be written

    def _write(self) -> bool:
        if not self._changes.to_write:
            return True
        try:
            with self.metrics.commit.time():
                self._changes.write(self.store)
        except StoreError as error:
            self._problem = str(error)
            self.metrics.store_stalled.set(1)
            self._outside.stalled(self._problem)
            return False
        return True

    def _act(self) -> None:
        changes, self._changes = self._changes, Changes()
        for timer in changes.timers:
            if isinstance(timer, SetTimer):
                self._outside.set_timer(timer)
            else:
                self._outside.clear_timer(timer)
        outside, written = self._outside, self.store.commits
        if changes.orders:
            outside.when_durable(written, partial(_each, outside.order, changes.orders))
        if changes.calls:
            outside.when_durable(self._calls_after, partial(_each, outside.call, changes.calls))
        if changes.replies:
            outside.when_durable(written, partial(_each, self.late_answers.tell, changes.replies))
        if changes.events:
            outside.when_durable(written, partial(outside.happened, changes.events), hurry=False)

    async def durable(self) -> None:
        """Wait until no power failure could take back what is known here now."""
        reached = asyncio.get_running_loop().create_future()
        self._outside.when_durable(self.store.commits, partial(_reach, reached))
        await reached

    def try_again(self) -> bool:
        """Write what could not be written; then what came in meanwhile happens. Whether it succeeded."""
        self._problem = ""
        if not self._write():
            return False
        self.metrics.store_stalled.set(0)
        self._act()
        backlog, self._backlog = self._backlog, []
        for happen in backlog:
            self._inside(happen)
        return True

    @property
    def problem(self) -> str:
        """Why the domain is stalled; empty if it is not."""
        return self._problem

    # What a turn changes

    def touch(self, job: JobId) -> None:
        """The job may have changed in this turn."""
        self._changes.touched[job] = None

    def note(self, job: JobId | None, what: What | Noted, **detail: object) -> None:
        """Tell something in the story; only in a turn."""
        self._sequence += 1
        told = {key: value for key, value in detail.items() if value is not None}
        number = int(job) if job is not None else None
        self._changes.events.append(EventRecord(self._sequence, self.now, KINDS[what], number, what, told))

    def audit(self, record: AuditRecord) -> None:
        """Keep an audit record with this turn."""
        self._changes.audits.append(record)

    @property
    def changes(self) -> Changes:
        """What the present turn has changed so far."""
        return self._changes

    def save(self, record: JobRecord) -> None:
        """Write the record at the end of this turn."""
        self._changes.jobs[record.id] = record

    def forget_changes(self) -> None:
        """What this turn has noted so far is not to be written: it ends in a Refusal, and nothing was done."""
        self._changes = Changes()


def _each(act: Callable[[Any], None], items: Iterable[Any]) -> None:
    for item in items:
        act(item)


def _reach(reached: asyncio.Future[None]) -> None:
    if not reached.done():  # who waited may have gone away
        reached.set_result(None)
