"""Reads of jobs and events for users, in a thread, so that they never keep the service's loop waiting.

The thread has its own connection to the database. It executes one statement at a time, and each looks at a bounded
number of rows. Each caller reads once at a time, so that large requests do not keep others from reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from cosched.core.job import JobState
from cosched.service.domain.charges import Cost
from cosched.service.store import EventRecord, JobRecord, Reader
from cosched.service.store.reading import RANGE

P = ParamSpec("P")
T = TypeVar("T")
BATCH = 200  # events that are read at a time
SLICE = 50  # jobs to look through or write before other work gets its turn


@dataclass(slots=True)
class Usage:
    """A sum of what jobs have cost."""

    jobs: set[int] = field(default_factory=set)
    cost: Cost = field(default_factory=Cost)


class Reads:
    """The reads of one service; belongs to its loop."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._thread = ThreadPoolExecutor(1, "reads")
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by caller

    async def close(self) -> None:
        """Wait for the running statement, and close the connection."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._reader.close()

    @asynccontextmanager
    async def reading(self, caller: str) -> AsyncIterator[None]:
        """Let this caller read in the block, after its earlier reads have ended."""
        one_at_a_time = self._reading.setdefault(caller, asyncio.Lock())
        async with one_at_a_time:
            yield

    # While a caller is reading; all of them raise StoreError

    async def job(self, id: int) -> JobRecord | None:
        """Return the job with this id."""
        return await self.read(Reader.job, id)

    async def jobs(
        self, states: Sequence[JobState] | None, owner: str | None, paired_only: bool, after_id: int, most: int,
        group: str | None = None,
    ) -> list[JobRecord]:  # fmt: skip
        """Return the first `most` jobs with ids above `after_id` that meet all conditions, by id; None: any."""
        found: list[JobRecord] = []
        after: int | None = after_id
        while after is not None and len(found) < most:
            batch, after = await self.read(Reader.jobs, states, owner, paired_only, after, most - len(found), group)
            found += batch
        return found

    async def events_since(self, since: int, kinds: Sequence[int]) -> list[EventRecord]:
        """Return the events of these kinds since that instant, the last one first."""
        found: list[EventRecord] = []
        before: int | None = await self.read(Reader.last_sequence) + 1
        while before is not None:
            batch, before = await self.read(Reader.events_before, before, kinds, since)
            found += batch
        return found

    async def usage(self, by: str, since: int) -> dict[str, Usage]:
        """Return what jobs have cost from this hour on, by their `owner`, `account` or `pair`."""
        found: dict[str, Usage] = {}
        after = (since - 1, 0)
        while True:
            batch = await self.read(Reader.charges, by, since, after)
            for hour, job, name, *cost in batch:
                usage = found.setdefault(name, Usage())
                usage.jobs.add(job)
                usage.cost = usage.cost.plus(Cost(*cost))
                after = hour, job
            if len(batch) < RANGE:
                return found

    async def read(self, of: Callable[Concatenate[Reader, P], T], *what: P.args, **more: P.kwargs) -> T:
        """Return what a method of the reader returns."""
        read = partial(of, self._reader, *what, **more)
        return await asyncio.get_running_loop().run_in_executor(self._thread, read)


async def in_slices(items: Iterable[T], size: int = SLICE) -> AsyncIterator[T]:
    """Yield the items, with a pause for the rest of the service after each `size` of them."""
    for number, item in enumerate(items, 1):
        yield item
        if not number % size:
            await asyncio.sleep(0)
