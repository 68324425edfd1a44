"""Reads of jobs and events for users: beside the service's loop, which they never keep waiting.

What is on record is read in a thread, on a connection of its own, by statements that look at a bounded number of rows;
one at a time, and each caller has one turn at a time, so that nobody who asks for much keeps others from reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from cosched.core.job import JobState
from cosched.service.store import EventRecord, JobRecord, Reader

T = TypeVar("T")
BATCH = 200  # events that are read at a time
SLICE = 50  # jobs that are looked through or written before others have their turn
_TURNS = 1  # reads of one caller at a time; more wait


class Reads:
    """What is read by one service; belongs to its loop."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._thread = ThreadPoolExecutor(1, "reads")
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._wanting: dict[str, int] = {}  # how many calls of each caller have a turn or wait for one

    async def close(self) -> None:
        """Wait for the statement that is under way, and close the connection."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._reader.close()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """The time of a read by this caller, after those of its own that came before."""
        turns = self._turns.setdefault(caller, asyncio.Semaphore(_TURNS))
        self._wanting[caller] = self._wanting.get(caller, 0) + 1
        try:
            async with turns:
                yield
        finally:
            self._wanting[caller] -= 1
            if not self._wanting[caller]:
                del self._wanting[caller], self._turns[caller]

    # In the turn of a caller

    async def job(self, id: int) -> JobRecord | None:
        """The job of that id; StoreError, as from all of these."""
        return await self._run(partial(self._reader.job, id))

    async def jobs(
        self, states: Sequence[JobState] | None, owner: str | None, paired_only: bool, after_id: int, most: int
    ) -> list[JobRecord]:
        """The first `most` jobs with ids above `after_id` that meet all conditions, by id; None: any."""
        found: list[JobRecord] = []
        after: int | None = after_id
        while after is not None and len(found) < most:
            read = partial(self._reader.jobs, states, owner, paired_only, after, most - len(found))
            batch, after = await self._run(read)
            found += batch
        return found

    async def first_sequence(self) -> int:
        """The number from which on no event has been deleted."""
        return await self._run(self._reader.first_sequence)

    async def last_sequence(self) -> int:
        """The number of the last event on record."""
        return await self._run(self._reader.last_sequence)

    async def events(
        self, after: int, jobs: Sequence[int], kinds: Sequence[int]
    ) -> tuple[list[EventRecord], int | None]:
        """Some events after that number, of these jobs and kinds, or none, and the number after which to go on.

        None: there are no more.
        """
        return await self._run(partial(self._reader.events, after, jobs, kinds, BATCH))

    async def _run(self, read: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, read)


async def in_slices(items: Iterable[T], size: int = SLICE) -> AsyncIterator[T]:
    """The same, with a pause for the rest of the service after each `size` of them."""
    for number, item in enumerate(items, 1):
        yield item
        if not number % size:
            await asyncio.sleep(0)
