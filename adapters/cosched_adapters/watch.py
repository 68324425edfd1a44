"""Schedules looks at the queue: rarely if nothing happens, soon on a hint, and at most once a second.

A look at a long queue takes a while of this process's only processor. So the longer a look took, the later is the next
one that a hint causes: looks that nobody waits for take at most a twentieth of a processor.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from cosched_adapters.manager import ManagerError

_LOG = logging.getLogger(__name__)
PACE = 1.0  # least seconds from one look to the next
SHARE = 20  # a look that nobody waits for begins so many times the processor time after the last one began
_T = TypeVar("_T")


class Watch:
    """Calls `look` every `interval` seconds and on hints. ManagerError: the batch system does not answer."""

    def __init__(self, look: Callable[[], Coroutine[Any, Any, None]], interval: float) -> None:
        self._look, self._interval = look, interval
        self._rest = 0.0  # least seconds from the last look to one that nobody waits for
        self._wanted = asyncio.Event()
        self._awaited = asyncio.Event()
        self._waiting: list[asyncio.Future[bool]] = []
        self._failing = False
        self._seen: float | None = None  # when the last look began, if it was successful
        self.seen_at: float | None = None  # when the last successful look began, in seconds since 1970

    def hint(self) -> None:
        """Look soon, since something has happened."""
        self._wanted.set()

    async def fresh(self, age: float = 0.0) -> bool:
        """Wait for the end of a look that begins now or later, unless one began at most `age` seconds ago.

        False: the look has failed.
        """
        if self._seen is not None and asyncio.get_running_loop().time() - self._seen <= age:
            return True
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._wanted.set()
        self._awaited.set()
        return await waiter

    async def run(self) -> None:
        """Look at the queue until cancelled. The first look comes on a hint or after an interval."""
        clock = asyncio.get_running_loop().time
        last = clock() - PACE
        while True:
            await self._within(self._interval, self._wanted)
            await asyncio.sleep(max(0.0, last + PACE - clock()))
            await self._within(last + self._rest - clock(), self._awaited)
            last, began = clock(), time.time()
            self._wanted.clear()
            self._awaited.clear()
            waiting, self._waiting = self._waiting, []
            done = False
            try:
                done = await self._try()
                self._seen = last if done else None
                self.seen_at = began if done else self.seen_at
            finally:
                _tell(waiting, done)

    def close(self) -> None:
        """Wake all who wait."""
        _tell(self._waiting, False)

    @staticmethod
    async def _within(seconds: float, event: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    async def _try(self) -> bool:
        looking = _Measured(self._look())
        try:
            await looking
        except ManagerError as error:
            if not self._failing:
                _LOG.warning("the queue cannot be looked at: %s", error)
            self._failing = True
            return False
        finally:
            self._rest = SHARE * looking.seconds
        if self._failing:
            _LOG.warning("the queue can be looked at again")
        self._failing = False
        return True


class _Measured(Awaitable[_T]):
    """Awaits a coroutine, and counts the processor time of its own steps, not of what goes on meanwhile."""

    def __init__(self, work: Coroutine[Any, Any, _T]) -> None:
        self._work = work
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, _T]:
        step: Callable[[], Any] = partial(self._work.send, None)
        while True:
            began = time.thread_time()
            try:
                awaited = step()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.seconds += time.thread_time() - began
            try:
                yield awaited
            except BaseException as error:
                step = partial(self._work.throw, error)
            else:
                step = partial(self._work.send, None)


def _tell(waiting: list[asyncio.Future[bool]], done: bool) -> None:
    for waiter in waiting:
        if not waiter.done():
            waiter.set_result(done)
