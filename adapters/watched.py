"""What adapters have in common that look at a queue: reports in their order, and looks when they are wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from cosched.adapters.batch_system import BatchReport
from cosched.adapters.watch import Watch


class WatchedQueue:
    """A part of a `BatchSystem`, which gives it these two. A report is done when the next one is asked for."""

    _reports: asyncio.Queue[BatchReport]
    _watch: Watch

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
