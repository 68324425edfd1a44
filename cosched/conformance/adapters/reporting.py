"""A manager that is open, and what it has reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from cosched_adapters.batch_system import BatchReport, BatchSystem, Known

PATIENCE = 300.0  # seconds; a safety net
_M = TypeVar("_M", bound=BatchSystem)
_T = TypeVar("_T")


class Reporting(Generic[_M]):
    """`async with` it: the manager is open, and `found` is what it found then."""

    def __init__(self, manager: _M) -> None:
        self.manager = manager
        self.found: Mapping[str, Known] = {}
        self.reports: list[BatchReport] = []
        self.more = asyncio.Event()  # set with each report
        self._reader: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        self.found = await self.manager.open()
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, at: TracebackType | None) -> None:
        await self.manager.close()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        async for report in self.manager.reports():
            self.reports.append(report)
            self.more.set()

    def of(self, job: str) -> list[str]:
        """Return the kinds of the reports about a job, in their order."""
        return [type(report).__name__ for report in self.reports if report.job_id == job]

    def last(self, job: str) -> Any:
        """Return the last report about a job."""
        return [report for report in self.reports if report.job_id == job][-1]

    async def told(self, job: str, *kinds: str) -> None:
        """Wait until the last reports about a job are these."""
        await until(lambda: self.of(job)[-len(kinds) :] == list(kinds), lambda: f"{kinds} of {job}: {self.of(job)}")


async def until(condition: Callable[[], _T], what: Callable[[], str]) -> _T:
    """Wait for a condition, which is looked at often; `what` tells, at the end, what was waited for."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not (value := condition()):
                await asyncio.sleep(0.02)
            return value
    except TimeoutError:
        raise AssertionError(f"waited for {what()}") from None
