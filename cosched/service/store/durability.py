"""Group commit: messages leave the domain only after the turn behind them is safe from a power failure.

A turn is written at once, but it survives a crash of the host only after the log has been flushed to disk. One thread
does this in rounds; all turns written during a round share the next one. So one decision costs one round, and a hundred
at once cost two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from cosched.service.metrics import Metrics
from cosched.service.store import Store

NEWS_WAIT = 0.05  # seconds at most until a round begins for what is not urgent
Act = Callable[[], None]


class Durability:
    """How much of the store is on disk, and what waits for that. Belongs to one asyncio loop."""

    def __init__(self, store: Store, metrics: Metrics, fail: Callable[[BaseException], None]) -> None:
        """`fail` is called with a StoreError if the log cannot be flushed to disk; then nothing leaves any more."""
        self._store = store
        self._metrics = metrics
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "sync")
        self._durable = store.commits
        self._waiting: list[tuple[int, Act]] = []  # each for so many commits
        self._hurry = False  # whether something that waits is urgent
        self._busy = False  # a round runs or is about to begin
        self._later: asyncio.TimerHandle | None = None

    def when_durable(self, commit: int, act: Act, *, hurry: bool = True) -> None:
        """See `turns.Outside`."""
        if commit <= self._durable:
            act()
            return
        self._waiting.append((commit, act))
        self._hurry |= hurry
        self._see_to_it()

    def close(self) -> None:
        """Wait for the running round; nothing leaves after it."""
        if self._later is not None:
            self._later.cancel()
        self._waiting.clear()
        self._thread.shutdown()

    def _see_to_it(self) -> None:
        if self._busy or not self._waiting:
            return
        if self._hurry:
            self._busy = True
            self._loop.call_soon(self._begin)  # turns in this iteration of the loop take part
        elif self._later is None:
            self._later = self._loop.call_later(NEWS_WAIT, self._begin_for_news)

    def _begin_for_news(self) -> None:
        self._later = None
        if not self._busy and self._waiting:
            self._busy = True
            self._begin()

    def _begin(self) -> None:
        began, commit = self._loop.time(), self._store.commits
        self._hurry = False  # everything that waits now takes part
        round = self._loop.run_in_executor(self._thread, self._store.sync)
        round.add_done_callback(lambda done: self._done(done, commit, began))

    def _done(self, round: asyncio.Future[None], commit: int, began: float) -> None:
        try:
            round.result()
        except Exception as error:
            self._fail(error)
            return
        self._metrics.sync.observe(self._loop.time() - began)
        self._durable, self._busy = commit, False
        ready = [act for needed, act in self._waiting if needed <= commit]
        self._waiting = [waiting for waiting in self._waiting if waiting[0] > commit]
        self._see_to_it()
        try:
            for act in ready:
                act()
        except Exception as error:
            self._fail(error)
