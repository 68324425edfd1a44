"""A PbsManager of a real cluster and what it has reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from cosched.adapters.batch_system import BatchReport, Known
from cosched.adapters.pbs.manager import PbsManager
from cosched.adapters.pbs.settings import read_settings
from deploy.pbs.lab import PbsCluster

PATIENCE = 120.0  # seconds; a safety net
_T = TypeVar("_T")


class Managed:
    """`async with Managed(...)`: a manager that is open."""

    def __init__(self, cluster: PbsCluster, **settings: object) -> None:
        given = {"hook_socket": str(cluster.folder / "hooks.sock"), "bin": str(cluster.bin), "command_timeout": 30}
        self.cluster = cluster
        self.manager = PbsManager(read_settings(cluster.folder, given | settings))
        self.found: dict[str, Known] = {}
        self.reports: list[BatchReport] = []
        self._changed = asyncio.Event()
        self._reader: asyncio.Task[None]

    async def __aenter__(self) -> Managed:
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
            self._changed.set()

    async def qsub(self, script: str = "sleep 60", *options: str, nodes: int = 2) -> str:
        """Submit a job; return its number."""
        given = (f"-lselect={nodes}:ncpus=1", "-lwalltime=600", *options)
        return (await asyncio.to_thread(self.cluster.qsub, script, *given)).partition(".")[0]

    def of(self, job: str) -> list[str]:
        """The kinds of the reports about a job, in their order."""
        return [type(report).__name__ for report in self.reports if report.job_id == job]

    async def told(self, job: str, *kinds: str) -> None:
        """Wait until the last reports about a job are these."""
        found = lambda: f"{kinds} of {job}, not {self.of(job)}"  # noqa: E731
        await self.until(lambda: self.of(job)[-len(kinds) :] == list(kinds), found)

    async def until(self, condition: Callable[[], _T], what: str | Callable[[], str]) -> _T:
        """Wait for a condition, which is looked at often; `what` tells, at the end, what was waited for."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not (value := await asyncio.to_thread(condition)):
                    await asyncio.sleep(0.05)
                return value
        except TimeoutError:
            raise AssertionError(f"waited for {what if isinstance(what, str) else what()}") from None

    async def states(self, *wanted: str) -> None:
        """Wait until the nodes are in these states."""
        names = dict(zip(self.cluster.nodes, wanted, strict=True))
        await self.until(lambda: self.cluster.states() == names, lambda: f"{names}, not {self.cluster.states()}")

    async def is_(self, job: str, *states: str) -> None:
        """Wait until PBS shows the job in one of these states."""
        full = f"{job}.{self.cluster.name}"
        await asyncio.to_thread(self.cluster.wait_for_state, full, *states)
