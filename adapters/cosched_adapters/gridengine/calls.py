"""One Grid Engine cluster, by its commands."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress

from cosched_adapters.gridengine import commands
from cosched_adapters.gridengine.commands import JobRow, Record, RefusedError
from cosched_adapters.gridengine.settings import GridEngineSettings
from cosched_adapters.programs import Programs
from cosched_adapters.slices import in_slices

_MOST_AT_ONCE = 4  # concurrent commands about single jobs
_VARIABLES = ("SGE_ROOT", "SGE_CELL", "SGE_ARCH", "SGE_QMASTER_PORT", "SGE_EXECD_PORT", "SGE_CLUSTER_NAME")


class GridEngine:
    """Calls raise ManagerError, or UnavailableError if the qmaster does not answer."""

    def __init__(self, settings: GridEngineSettings) -> None:
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ} | {"TZ": "UTC0"}
        self._programs = Programs("Grid Engine", settings.bin, settings.command_timeout, environment)
        self._some = asyncio.Semaphore(_MOST_AT_ONCE)

    async def queue(self) -> list[JobRow]:
        """Return all jobs that have not ended."""
        known = {job["job_number"]: job for job in await in_slices(commands.each_known(await self._details("*")))}
        return await in_slices(commands.each_job(await self._run(["qstat", "-xml", "-u", "*"]), known))

    async def _details(self, job: str) -> bytes:
        with suppress(RefusedError):  # there is no such job; of "*", no job at all
            return await self._run(commands.details(job))
        return b""

    async def job(self, job: str) -> JobRow | None:
        """Return a job that has not ended, without its state; None: there is no such job."""
        async with self._some:
            rows = commands.parse_details(await self._details(job))
        return rows[0] if rows else None

    async def records(self, job: str) -> list[Record]:
        """Return what accounting has of a job, the latest last."""
        async with self._some:
            with suppress(RefusedError):
                return commands.parse_accounting(await self._run(["qacct", "-j", job]))
        return []

    async def slots(self) -> int:
        """Return how many slots there are."""
        return commands.parse_slots(await self._run(["qstat", "-g", "c"]))

    async def put_off(self, job: str, until: float) -> None:
        """Keep a job back from its next dispatch until an instant (seconds since 1970); RefusedError.

        It keeps the slots that it may have now.
        """
        await self._change(["qalter", "-a", time.strftime("%Y%m%d%H%M.%S", time.gmtime(until)), job])

    async def cancel(self, job: str) -> None:
        """End a job; do nothing if it has ended or is unknown."""
        with suppress(RefusedError):
            await self._change(["qdel", job])

    async def rerun(self, job: str) -> None:
        """End a job's run, and queue it again; RefusedError."""
        printed = await self._change(["qmod", "-rj", job])
        if commands.is_not_restartable(printed):
            raise commands.failure("qmod", 0, printed)

    async def name(self, job: str, words: Mapping[str, str]) -> None:
        """Change the words of a job's context; RefusedError."""
        await self._change(commands.change(job, words))

    async def show(self, *argv: str) -> str:
        """Return what a command prints."""
        return (await self._run(list(argv))).decode(errors="replace")

    async def _change(self, argv: list[str]) -> bytes:
        async with self._some:
            return await self._run(argv)

    async def _run(self, argv: list[str]) -> bytes:
        return await self._programs.run(argv, commands.failure)
