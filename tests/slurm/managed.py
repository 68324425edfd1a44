"""A SlurmManager of a real cluster, what it has reported, and jobs for it."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cosched.conformance.adapters.reporting import PATIENCE, Reporting
from cosched_adapters.batch_system import Offered
from cosched_adapters.slurm.batch_job import BatchJob
from cosched_adapters.slurm.commands import JobRow, details, each_row, queue
from cosched_adapters.slurm.manager import SlurmManager
from cosched_adapters.slurm.settings import read_settings
from deploy.slurm.lab import Cluster, Lab, LabError, clear
from deploy.slurm.lab.configuration import Options
from tests.slurm.cosched_hooks import Site, site

PAIR = "--comment=cosched:pair=p"
HOOKS_PATIENCE = 300  # seconds: whatever keeps us from running, no job starts without us
BUSY = "until [ -e {go} ]; do sleep 0.1; done"  # a job that runs until the file is there
_COMMANDS = ("squeue", "scontrol", "scancel", "sinfo")
_COUNTING = """#!/bin/sh
echo {name} "$@" >> {log}
exec {program} "$@"
"""
_R = TypeVar("_R")
_T = TypeVar("_T")


@contextmanager
def clusters(*names: str, **options: Any) -> Iterator[dict[str, tuple[Cluster, Site]]]:
    """Clusters, each with hooks of its own."""
    with ExitStack() as stack:
        sites = {name: stack.enter_context(site(HOOKS_PATIENCE)) for name in names}
        each = {name: Options(**sites[name].options, **options) for name in names}
        lab = stack.enter_context(Lab(names=names, each=each))
        yield {name: (lab[name], sites[name]) for name in names}


Place = tuple[Cluster, Site]


def places(**options: Any) -> tuple[Any, Any]:
    """Return two fixtures: a cluster for a module, which is called intrepid, and the same for one test."""

    @pytest.fixture(scope="module")
    def made() -> Iterator[Place]:
        with clusters("intrepid", **options) as found:
            yield found["intrepid"]

    @pytest.fixture
    def place(made: Place) -> Iterator[Place]:
        yield made
        clear(made[0])

    return made, place


class Counted:
    """Slurm's commands in a folder, which write down each call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "log"
        for name in _COMMANDS:
            script = folder / name
            script.write_text(_COUNTING.format(name=name, log=self._log, program=shutil.which(name)))
            script.chmod(0o755)

    def calls(self, beginning: str = "") -> list[str]:
        """The calls so far, those that begin so."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [line for line in lines if line.startswith(beginning)]


class Managed(Reporting[SlurmManager]):
    """The manager of a cluster, and jobs for it."""

    def __init__(self, cluster: Cluster, hooks: Site, **settings: object) -> None:
        given = {"conf": str(cluster.conf), "hook_socket": str(hooks.socket), "command_timeout": 30} | settings
        super().__init__(SlurmManager(read_settings(cluster.directory, given)))
        self.cluster = cluster

    @property
    def known(self) -> dict[str, BatchJob]:
        """What the manager knows of each job."""
        return self.manager._register.jobs

    @property
    def offers(self) -> list[Offered]:
        """All that has been offered."""
        return [report for report in self.reports if isinstance(report, Offered)]

    async def wait_for(self, kind: type[_R], job: str, times: int = 1) -> _R:
        """The report of this kind about a job, once there have been so many."""
        try:
            async with asyncio.timeout(PATIENCE):
                while len(found := [r for r in self.reports if isinstance(r, kind) and r.job_id == job]) < times:
                    self.more.clear()
                    await self.more.wait()
        except TimeoutError:
            queue = await asyncio.to_thread(self.cluster.squeue, "-a", "-t", "all")
            raise LabError(f"no {kind.__name__} of job {job}, but {self.reports}\n{queue}") from None
        return found[times - 1]

    async def until(self, condition: Callable[[], _T], what: str) -> _T:
        """Until something about the cluster is true."""
        return await asyncio.to_thread(self.cluster.wait_for, condition, what)

    async def submit(self, script: str = "true", *options: str, comment: str = PAIR) -> str:
        """Submit a batch job that names a mate; its id."""
        return str(await asyncio.to_thread(self.cluster.sbatch, script, comment, *options))

    async def hold(self, script: str = "true", *options: str, comment: str = PAIR) -> str:
        """The same, once it is offered."""
        job = await self.submit(script, *options, comment=comment)
        await self.wait_for(Offered, job)
        return job

    async def wait_for_state(self, job: str, *states: str) -> JobRow:
        """The job's row in one of these states."""
        await asyncio.to_thread(self.cluster.wait_for_state, int(job), *states)
        return await self.row(job)

    async def row(self, job: str) -> JobRow:
        """What squeue says of a job."""
        return next(row for row in await asyncio.to_thread(rows, self.cluster, job) if row.job_id == job)

    async def scontrol(self, *arguments: str) -> None:
        """As an operator."""
        await asyncio.to_thread(self.cluster.scontrol, *arguments)


def rows(cluster: Cluster, *jobs: str) -> list[JobRow]:
    """What squeue says of some jobs, or of all."""
    argv = details(jobs) if jobs else queue()
    printed = cluster.run("env", "SLURM_TIME_FORMAT=%s", *argv)
    return list(each_row(printed.encode("utf-8", "surrogateescape"), comments=bool(jobs)))
