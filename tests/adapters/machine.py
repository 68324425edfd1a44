"""A local manager under test, and what it has reported."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from cosched_adapters.launcher import JobSpec
from cosched_adapters.local.manager import LocalManager, create
from cosched_adapters.local.record import Record, read
from cosched_adapters.manager import Ended, Report, Started
from tests.waiting import until

PATIENCE = 120.0  # seconds; a safety net, not a measure


class Machine:
    """The manager `manager` with its spool below `directory`; `found` is what it knew when it was opened."""

    def __init__(self, manager: LocalManager, directory: Path) -> None:
        self.manager = manager
        self.directory = directory
        self.found: dict[str, Report | None] = {}
        self.told: list[Report] = []
        self._more = asyncio.Event()

    async def listen(self) -> None:
        async for report in self.manager.reports():
            self.told.append(report)
            self._more.set()

    async def launch(self, job_id: str, *command: str, **others: Any) -> None:
        values = {"nodes": 1, "walltime": 60, "directory": str(self.directory)} | others
        await self.manager.launch(JobSpec(job_id=job_id, command=command, **values))

    async def started(self, job_id: str) -> Started:
        report = await self._next(job_id, Started)
        assert isinstance(report, Started)
        return report

    async def ended(self, job_id: str) -> Ended:
        report = await self._next(job_id, Ended)
        assert isinstance(report, Ended)
        return report

    async def run(self, job_id: str, *command: str, **others: Any) -> Ended:
        await self.launch(job_id, *command, **others)
        return await self.ended(job_id)

    async def _next(self, job_id: str, kind: type) -> Report:
        async with asyncio.timeout(PATIENCE):
            while True:
                for report in self.told:
                    if report.job_id == job_id and isinstance(report, kind):
                        return report
                self._more.clear()
                await self._more.wait()

    def record(self, job_id: str) -> Record:
        record = read(str(self.directory / "jobs" / job_id))
        assert record is not None
        return record

    def output(self, job_id: str) -> str:
        return (self.directory / f"cosched-{job_id}.out").read_text()

    async def line(self, job_id: str, number: int = 0) -> str:
        """A line of the job's output, as soon as it is there."""

        def there() -> bool:
            with suppress(FileNotFoundError):
                return self.output(job_id).count("\n") > number
            return False

        await until(there)
        return self.output(job_id).splitlines()[number]


@asynccontextmanager
async def machine(directory: Path, slots: int = 8, grace: float = 1.0, **settings: object) -> AsyncIterator[Machine]:
    """An open manager; closing it is what a service does that stops: jobs run on."""
    here = Machine(
        create(
            "intrepid",
            directory / "local",
            {"spool": str(directory / "jobs"), "slots": slots, "grace": grace, **settings},
        ),
        directory,
    )
    here.found = dict(await here.manager.open())
    listener = asyncio.create_task(here.listen())
    try:
        yield here
    finally:
        listener.cancel()
        await here.manager.close()


def lives(pid: int) -> bool:
    """Whether the process runs, zombies not counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def fork_server(here: Machine) -> int:
    """The number of the manager's fork server, or of its last one."""
    process = here.manager._forks._process
    assert process is not None
    return process.pid


def children(parent: int) -> list[int]:
    """The living children of a process, in the order of their numbers."""
    found = []
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and fields[0] not in "ZX":
                found.append(pid)
    return sorted(found)


def ours(directory: Path) -> list[int]:
    """All living processes that have `directory` as their working directory or in it, or name it in their command."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            there = [
                os.readlink(f"/proc/{name}/cwd"),
                Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace"),
            ]
            if any(str(directory) in text for text in there) and lives(int(name)):
                found.append(int(name))
    return found
