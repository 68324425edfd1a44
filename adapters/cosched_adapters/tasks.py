"""The tasks that a manager has begun: they end with it, and none fails in silence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from cosched_adapters.manager import ManagerError

_T = TypeVar("_T")


class OwnTasks:
    """`log` gets errors of the program, and at the level `failures` what the batch system has refused."""

    def __init__(self, log: logging.Logger, failures: int) -> None:
        self._log, self._failures = log, failures
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Run this until it has ended, or `close`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def finish(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run this to its end, even if the caller is cancelled."""
        return await asyncio.shield(self.begin(work))

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ManagerError):
            self._log.log(self._failures, "%s", error)
        elif isinstance(error, Exception):
            self._log.error("a task of the manager has failed", exc_info=error)

    async def close(self) -> None:
        """Cancel all tasks, and wait for their ends."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
