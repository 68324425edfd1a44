"""A PbsManager of a real cluster and what it has reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from cosched.conformance.adapters.reporting import PATIENCE, Reporting
from cosched_adapters.pbs.manager import PbsManager
from cosched_adapters.pbs.settings import read_settings
from deploy.pbs.lab import PbsCluster

_T = TypeVar("_T")


class Managed(Reporting[PbsManager]):
    """The manager of a cluster, and jobs for it."""

    def __init__(self, cluster: PbsCluster, **settings: object) -> None:
        given = {"hook_socket": str(cluster.folder / "hooks.sock"), "bin": str(cluster.bin), "command_timeout": 30}
        super().__init__(PbsManager(read_settings(cluster.folder, given | settings)))
        self.cluster = cluster

    async def qsub(self, script: str = "sleep 60", *options: str, nodes: int = 2) -> str:
        """Submit a job; return its number."""
        given = (f"-lselect={nodes}:ncpus=1", "-lwalltime=600", *options)
        return (await asyncio.to_thread(self.cluster.qsub, script, *given)).partition(".")[0]

    async def until(self, condition: Callable[[], _T], what: str | Callable[[], str]) -> _T:
        """Wait for a condition, which is looked at often, in a thread; `what` tells what was waited for."""
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
