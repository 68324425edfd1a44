"""How often the manager asks a recorded server: once in an interval, never more than once a second, for all jobs."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cosched_adapters import root_hooks
from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import Offered
from cosched_adapters.manager import NoRequeueError
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.commands import JobRow
from cosched_adapters.pbs.manager import PbsManager
from cosched_adapters.pbs.settings import read_settings
from cosched_adapters.programs import Failure
from tests.conformance.recorded_pbs import RecordedPrograms, RecordedServer
from tests.waiting import until


class Counted(RecordedPrograms):
    """Notes the commands."""

    def __init__(self, server: RecordedServer) -> None:
        super().__init__(server)
        self.asked: list[Sequence[str]] = []
        self.manager: PbsManager

    async def run(self, argv: Sequence[str], failure: Failure, fine: Collection[int] = (0,)) -> bytes:
        self.asked.append(argv)
        return await super().run(argv, failure, fine)

    def looks(self) -> list[Sequence[str]]:
        return [argv for argv in self.asked if argv[0] == "qstat"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedServer:
    monkeypatch.setattr(root_hooks, "_ROOT", os.geteuid())
    return RecordedServer(tmp_path, monkeypatch, 4)


@pytest.fixture
async def counted(server: RecordedServer, tmp_path: Path) -> AsyncIterator[Counted]:
    """The commands of a manager that is open, and looks once in a second."""
    settings = {"hook_socket": str(server.socket), "poll_interval": 1}
    manager = PbsManager(read_settings(tmp_path, settings))
    counted = Counted(server)
    counted.manager = manager
    manager._pbs._programs = counted  # type: ignore[assignment]
    await manager.open()
    reading = asyncio.create_task(_read(manager))
    await manager.look()
    counted.asked.clear()
    yield counted
    for job in server.jobs:
        await server.command(["qdel", job])
    await server.settle()
    reading.cancel()
    await manager.close()


async def _read(manager: PbsManager) -> None:
    async for report in manager.reports():
        assert not isinstance(report, Offered) or report.can_yield


async def test_an_idle_server_is_asked_once_in_an_interval(counted: Counted) -> None:
    await asyncio.sleep(3.5)
    assert 1 <= len(counted.asked) <= 4
    assert {tuple(argv) for argv in counted.asked} == {tuple(commands.QUEUE)}


async def test_many_jobs_at_once_cost_one_look_a_second_for_all(counted: Counted, server: RecordedServer) -> None:
    began = time.monotonic()
    for number in range(40):
        await server.submit(1, 600, {"pair": f"p{number}"})
    await asyncio.sleep(1.5)
    assert 1 <= len(counted.looks()) <= time.monotonic() - began + 2
    assert {tuple(argv) for argv in counted.looks()} == {tuple(commands.QUEUE)}


async def test_a_running_job_whose_user_says_no_is_not_queued_again(counted: Counted, server: RecordedServer) -> None:
    job = await server.submit(1, 600, {"pair": "p"})
    server.jobs[job]["Rerunable"] = "False"
    known = counted.manager._register.jobs
    await until(lambda: job in known and known[job].offered_as)
    assert await counted.manager.start(job)
    with pytest.raises(NoRequeueError, match="qsub -r n"):
        await counted.manager.requeue(job)
    assert server.jobs[job]["job_state"] == "R"


@pytest.mark.parametrize("known", [True, False])
async def test_of_an_end_that_the_hook_tells_only_that_job_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The whole queue is looked at if PBS has not written the end down yet."""
    manager = PbsManager(read_settings(tmp_path, {"hook_socket": str(tmp_path / "sock")}))
    row = JobRow("7", "", "ann", "R", 42, 1, 60, 0, {"pair": "p"}, array=False, started_at=1)
    ended = replace(row, state="F" if known else "E", ended_at=2, exit_code=0)
    asked: list[Sequence[str]] = []

    async def details(jobs: Sequence[str]) -> list[JobRow]:
        asked.append(jobs)
        return [ended]

    async def schedule() -> None:
        """Nothing is to be scheduled."""

    monkeypatch.setattr(manager._pbs, "details", details)
    monkeypatch.setattr(manager._pbs, "schedule", schedule)
    manager._register.learn(row)
    manager._ended("7")
    manager._ended("8")  # it has no mate
    await until(lambda: manager._watch._wanted.is_set() or manager._register.jobs["7"].phase is Phase.ENDED)
    assert asked == [["7"]]
    assert manager._watch._wanted.is_set() is not known
    await manager._tasks.close()
