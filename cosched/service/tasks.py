"""A set of concurrent tasks. A fault in one of them is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """The tasks of one owner. Belongs to one asyncio loop."""

    def __init__(self, fail: Callable[[BaseException], None]) -> None:
        """`fail` is called with a fault of ours, after which nothing can be relied on."""
        self._fail = fail
        self._tasks: set[asyncio.Task[Any]] = set()
        self._settled = asyncio.Event()  # set while no task is left
        self._settled.set()

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        self._settled.clear()
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self._settled.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def settled(self) -> None:
        """Wait until no task is left, including tasks that start meanwhile."""
        await self._settled.wait()

    async def close(self) -> None:
        """Cancel all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
