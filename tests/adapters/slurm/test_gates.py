"""The gates as the service sees them: real gates in bash, and a Slurm that shows what squeue did."""

import asyncio
import getpass
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cosched_adapters.manager import ManagerError
from cosched_adapters.own import gates as gates_module
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.gates import OwnSlurm, SlurmGates
from cosched_adapters.slurm.settings import SlurmSettings
from tests.adapters.own.test_gate_script import Gate
from tests.waiting import until

RUNNING = JobRow(
    "12", None, None, None, "RUNNING", "None", 2, 1, 1, 1, None, 0, 0, 0, can_yield=True, user=getpass.getuser(),
    comment="cosched:pair=run1",
)  # fmt: skip
KILLED = replace(RUNNING, state="FAILED", signal=9, ended_at=2)  # as squeue shows it 0.7 s later: exit_code 9


class Seen(OwnSlurm):
    """A cluster with job 12."""

    def __init__(self, settings: SlurmSettings) -> None:
        super().__init__(settings)
        self.row, self.requeued, self.refuses = RUNNING, 0, False

    async def details(self, job_ids):
        return [self._own(self.row) for _ in job_ids]

    async def requeue(self, job_id):
        assert job_id == "12"
        if self.refuses:
            raise ManagerError("scontrol: Job violates accounting/QOS policy")
        self.requeued += 1


class World:
    """The gates' files and what was heard of them."""

    def __init__(self, folder: Path) -> None:
        settings = SlurmSettings(hook_socket=folder / "s.sock", gates=folder / "gates")
        self.slurm = Seen(settings)
        self.offers, self.withdrawn = 0, 0
        self.starting: list[tuple[str, int]] = []
        self.gates = self.slurm.gates = SlurmGates(
            settings, self.slurm, on_offer=self._offered, on_withdrawn=self._withdrawn,
            on_starting=lambda *said: self.starting.append(said), jobs=list,
        )  # fmt: skip

    def _offered(self, _) -> None:
        self.offers += 1

    def _withdrawn(self, _) -> None:
        self.withdrawn += 1

    async def state(self) -> str:
        return (await self.slurm.details(["12"]))[0].state


@asynccontextmanager
async def waiting(folder: Path, *arguments: str) -> AsyncIterator[tuple[World, subprocess.Popen[str]]]:
    """A job that waits in its gate, and is offered."""
    world = World(folder)
    with Gate(folder).start(*arguments) as job:
        world.gates.load()
        await world.gates.open()
        try:
            await until(lambda: world.offers)
            yield world, job
        finally:
            await world.gates.close()
            job.kill()


async def test_a_gate_that_is_killed_is_noticed_before_slurm_says_so(tmp_path):
    async with waiting(tmp_path) as (world, job):
        assert await world.state() == "CONFIGURING"
        job.kill()
        await until(lambda: world.withdrawn)
        assert world.gates._offers == {}
        assert not world.gates.start("12")


async def test_a_job_whose_gate_was_killed_is_queued_again_once(tmp_path):
    async with waiting(tmp_path) as (world, job):
        job.kill()
        world.slurm.row = KILLED
        for _ in range(3):
            assert await world.state() == "COMPLETING"
        await until(lambda: world.slurm.requeued)
        assert world.slurm.requeued == 1


@pytest.mark.parametrize(
    "row",
    [
        replace(KILLED, signal=15), replace(KILLED, can_yield=False), replace(KILLED, restarts=1, ended_at=60),
        replace(KILLED, restarts=3), replace(KILLED, restarts=1, comment="no mate"),
    ],
    ids=["another signal", "not to be queued again", "a run without a gate", "again and again", "no mate"],
)  # fmt: skip
async def test_other_failures_are_those_of_the_job(tmp_path, row):
    async with waiting(tmp_path) as (world, _):
        world.slurm.row = row
        assert await world.state() == "FAILED"


async def test_a_gate_that_was_killed_before_it_said_a_word_is_saved_too(tmp_path):
    async with waiting(tmp_path) as (world, _):
        world.slurm.row = replace(KILLED, restarts=1)  # the next turn
        assert await world.state() == "COMPLETING"
        await until(lambda: world.slurm.requeued)


async def test_a_job_that_slurm_does_not_queue_again_has_failed(tmp_path, caplog):
    async with waiting(tmp_path) as (world, job):
        world.slurm.refuses = True
        job.kill()
        world.slurm.row = KILLED
        assert await world.state() == "COMPLETING"
        await until(lambda: "cannot be queued again" in caplog.text)
        assert await world.state() == "FAILED"


@pytest.mark.parametrize("later", [0, 60])
async def test_a_job_whose_gate_is_killed_before_its_instant_is_queued_again(tmp_path, later):
    """If it ended later, its gate could not say that the script began."""
    async with waiting(tmp_path) as (world, job):
        at = time.time() + 60
        assert world.gates.start("12", at)
        await until(lambda: world.starting == [("12", 0)])
        job.kill()
        world.slurm.row = replace(KILLED, ended_at=int(at) + later)
        assert await world.state() == ("FAILED" if later else "COMPLETING")
        await until(lambda: world.slurm.requeued == (not later))


async def test_a_job_that_is_killed_once_its_script_has_begun_is_not_queued_again(tmp_path):
    async with waiting(tmp_path, "", "wait") as (world, job):
        at = time.time() + 0.3
        assert world.gates.start("12", at)
        assert job.stdin is not None
        job.stdin.close()
        await until((tmp_path / "waits").exists)
        job.kill()
        world.slurm.row = replace(KILLED, ended_at=int(at))
        assert await world.state() == "FAILED"
        await until(lambda: world.gates.said("12", 0).begun)
        assert world.starting == [("12", 0)]


async def test_gates_are_heard_again_after_their_folder_was_away(tmp_path, caplog):
    async with waiting(tmp_path) as (world, job):
        (tmp_path / "gates").rename(tmp_path / "away")
        await until(lambda: "gates cannot be used: No such file or directory" in caplog.text)
        assert not world.gates.start("12")
        assert len(world.gates._offers) == 1
        (tmp_path / "away").rename(tmp_path / "gates")
        job.kill()
        await until(lambda: world.withdrawn)


async def test_a_gate_that_waits_though_its_lock_is_lost_is_offered_again(tmp_path, monkeypatch):
    monkeypatch.setattr(gates_module, "_AGAIN", 0.05)
    async with waiting(tmp_path) as (world, _):
        monkeypatch.setattr(gates_module.fcntl, "flock", lambda *_: None)
        await until(lambda: world.offers == 2)
        assert world.withdrawn == 1
        assert world.gates.start("12")
        await asyncio.sleep(0)
