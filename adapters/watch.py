"""Schedules looks at the queue: rarely if nothing happens, soon on a hint, and at most once a second."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from cosched.adapters.manager import ManagerError

_LOG = logging.getLogger(__name__)
PACE = 1.0  # least seconds from one look to the next


class Watch:
    """Calls `look` every `interval` seconds and on hints. ManagerError: the batch system does not answer."""

    def __init__(self, look: Callable[[], Awaitable[None]], interval: float) -> None:
        self._look = look
        self._interval = interval
        self._wanted = asyncio.Event()
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
        return await waiter

    async def run(self) -> None:
        """Look at the queue until cancelled. The first look comes on a hint or after an interval."""
        clock = asyncio.get_running_loop().time
        last = clock() - PACE
        while True:
            await self._wait_for_hint()
            await asyncio.sleep(max(0.0, last + PACE - clock()))
            last, began = clock(), time.time()
            self._wanted.clear()
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

    async def _wait_for_hint(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._interval):
                await self._wanted.wait()

    async def _try(self) -> bool:
        try:
            await self._look()
        except ManagerError as error:
            if not self._failing:
                _LOG.warning("the queue cannot be looked at: %s", error)
            self._failing = True
            return False
        if self._failing:
            _LOG.warning("the queue can be looked at again")
        self._failing = False
        return True


def _tell(waiting: list[asyncio.Future[bool]], done: bool) -> None:
    for waiter in waiting:
        if not waiter.done():
            waiter.set_result(done)
