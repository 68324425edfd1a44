"""One PBS server, by its commands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from cosched_adapters.manager import UnknownJobError
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.commands import JobRow, NodeRow, UnknownObjectError
from cosched_adapters.pbs.connection import Connection, NoConnectionError
from cosched_adapters.pbs.settings import PbsSettings
from cosched_adapters.programs import Programs
from cosched_adapters.slices import in_slices

_MOST_CHANGES = 4  # concurrent commands that change something
_NODES_OF_A_COMMAND = 200
_T = TypeVar("_T")


class Pbs:
    """Calls raise ManagerError, or UnavailableError if the server does not answer."""

    def __init__(self, settings: PbsSettings) -> None:
        conf = os.environ.get("PBS_CONF_FILE")
        environment = {"PBS_CONF_FILE": conf} if conf else {}
        self._programs = Programs("PBS", settings.bin, settings.command_timeout, environment)
        self._connection = Connection(self._programs, settings.command_timeout)
        self._changes = asyncio.Semaphore(_MOST_CHANGES)
        self._one_cycle = asyncio.Lock()
        self._cycles = 0  # that we have asked for

    async def queue(self) -> list[JobRow]:
        """Return all jobs that have not ended."""
        return await in_slices(commands.each_job(await self._ask(commands.QUEUE)))

    async def details(self, jobs: Sequence[str]) -> list[JobRow]:
        """Return those of the jobs that PBS knows, also of those that have ended."""
        rows: list[JobRow] = []
        for job in jobs:  # of several jobs, qstat shows one, if it prints JSON
            rows += commands.parse_jobs(await self._ask(commands.history(job)))
        return rows

    async def history(self) -> list[JobRow]:
        """Return all jobs, also those that have ended recently."""
        return await in_slices(commands.each_job(await self._ask(commands.history())))

    async def nodes(self) -> list[NodeRow]:
        """Return all nodes that jobs can use."""
        return commands.parse_nodes(await self._ask(commands.NODES))

    async def server(self) -> dict[str, Any]:
        """Return the server's settings, and its `pbs_version`."""
        return next(iter(commands.section(await self._ask(commands.SERVER), "Server").values()), {})

    async def listed(self, kind: str, name: str = "") -> dict[str, dict[str, str]]:
        """Return the attributes of an object of the server, or of all of a kind; nothing if there is none."""
        with suppress(UnknownObjectError):
            return commands.parse_listed(await self._run(commands.listed(kind, name)))
        return {}

    async def hook_settings(self, hook: str) -> dict[str, Any]:
        """Return the configuration of a hook; nothing if it has none. ManagerError, also if it is not JSON."""
        with suppress(UnknownObjectError):
            exported = ["qmgr", "-c", f"export hook {hook} application/x-config default"]
            return commands.parse_object(await self._programs.run(exported, commands.failure))
        return {}

    async def run(self, job: str, vnodes: str) -> None:
        """Start a queued job on these nodes, which may be offline. ManagerError: they are not free. UnknownJobError."""
        await self._change(commands.run(job, vnodes))

    async def cancel(self, job: str) -> None:
        """End a job; do nothing if it has ended or is unknown."""
        with suppress(UnknownJobError):
            await self._change(["qdel", job])

    async def rerun(self, job: str) -> None:
        """End a job's run, and queue it again. ManagerError: it does not run. UnknownJobError."""
        await self._change(["qrerun", job])

    async def alter(self, job: str, resources: Mapping[str, str]) -> None:
        """Change a queued job's resources. UnknownJobError."""
        await self._change(commands.alter(job, resources))

    async def schedule(self) -> None:
        """Begin a scheduling cycle, one for all who wait for it, unless an administrator has turned scheduling off."""
        before = self._cycles
        async with self._one_cycle:
            if self._cycles > before:
                return
            listed = await self.listed("server", "scheduling")
            self._cycles += 1
            if all(server.get("scheduling") == "True" for server in listed.values()):
                await self._change(commands.SCHEDULE)

    async def hold(self, job: str, vnodes: str) -> None:
        """Take the nodes of an exec_vnode offline, for this job."""
        alike: dict[str, list[str]] = {}
        for node, chunk in commands.chunks(vnodes).items():
            alike.setdefault(chunk, []).append(node)
        for chunk, nodes in alike.items():
            for some in batched(nodes, _NODES_OF_A_COMMAND):
                await self._change(commands.take_offline(some, f"{job} {chunk}"))

    async def let_go(self, nodes: Sequence[str]) -> None:
        """Put nodes online that are held by us."""
        for some in batched(nodes, _NODES_OF_A_COMMAND):
            await self._change(commands.put_online(some))  # first: nobody would mend a node offline without a holder
            await self._change(commands.disown(some))

    async def _ask(self, argv: list[str]) -> bytes:
        """Run a command that may answer in part: qstat, if it does not know some jobs."""
        return await self._run(argv, fine=(0, commands.UNKNOWN_JOBS, commands.FINISHED_JOB))

    async def _change(self, argv: list[str]) -> None:
        async with self._changes:
            await self._run(argv)

    async def _run(self, argv: list[str], fine: Collection[int] = (0,)) -> bytes:
        """Run a command, over the connection if that can do it."""
        if self._connection.can(argv):
            with suppress(NoConnectionError):
                return await self._connection.run(argv, commands.failure, fine)
        return await self._programs.run(argv, commands.failure, fine)

    async def close(self) -> None:
        """End the connection to the server."""
        await self._connection.close()


def batched(items: Sequence[_T], most: int) -> Iterator[Sequence[_T]]:
    """Yield these items in parts of at most `most`."""
    for start in range(0, len(items), most):
        yield items[start : start + most]
