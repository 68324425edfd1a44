"""What adapters have in common that look at a queue: reports in their order, and looks when they are wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from cosched_adapters.batch_system import BatchReport
from cosched_adapters.manager import ManagerError
from cosched_adapters.watch import Watch


class WatchedQueue:
    """A part of a `BatchSystem`, which gives it these two. A report is done when the next one is asked for."""

    _reports: asyncio.Queue[BatchReport]
    _watch: Watch
    _nodes = 0

    @property
    def nodes(self) -> int:
        """See the protocol."""
        return self._nodes

    async def reports(self) -> AsyncIterator[BatchReport]:
        """See the protocol."""
        while True:
            report = await self._reports.get()
            yield report
            self._reports.task_done()

    async def look(self, age: float = 0.0) -> bool:
        """See the protocol; at most once a second."""
        answered = await self._watch.fresh(age)
        await self._reports.join()
        return answered

    def looked_at(self) -> float | None:
        """See the protocol."""
        return self._watch.seen_at

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


class Wanted(Protocol):
    """A job; `wanted` is set while a caller waits for its offer, which goes there and not into a report."""

    wanted: asyncio.Future[None] | None


async def wait_for_offer(
    job: Wanted, patience: float, hasten: Callable[[], Awaitable[None]], report: Callable[[], None]
) -> None:
    """Wait up to `patience` seconds for the offer that `hasten` brings; `report` one that a cancelled caller has."""
    wanted = job.wanted = asyncio.get_running_loop().create_future()
    try:
        with suppress(TimeoutError, ManagerError):
            async with asyncio.timeout(patience):
                await hasten()
                await wanted
    except asyncio.CancelledError:
        if wanted.done() and not wanted.cancelled():
            report()  # nobody waits for it any more
        raise
    finally:
        job.wanted = None
