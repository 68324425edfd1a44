"""Whose wish it is that a queued job waits, and what becomes of a turn that cannot be given back any more."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import BatchReport
from cosched_adapters.slurm.batch_job import BatchJob
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.hook_protocol import Offer
from cosched_adapters.slurm.hook_server import HookServer
from cosched_adapters.slurm.register import Register
from cosched_adapters.slurm.sequences import Sequences
from cosched_adapters.slurm.settings import SlurmSettings
from cosched_adapters.watch import Watch
from tests.adapters.slurm.desk import END, OFFER, ROW

READY = b"ready\tjob=7\tnodes=2\tnodelist=a[1-2]\tuid=7\tuser=ann\trestarts=0\tbatch=1\tcomment=cosched:pair=p\n"
SLURMS_DELAY = 121  # seconds
PATIENCE = 60  # seconds; a safety net


class Desk:
    """A cluster whose scontrol does nothing but write down its arguments, and hooks that are real."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        scontrol = folder / "scontrol"
        scontrol.write_text(f'#!/bin/sh\necho "$@" >> {self._log}\n')
        scontrol.chmod(0o755)
        (folder / "scancel").symlink_to(scontrol)
        self.socket = folder / "hooks.sock"
        self.reports: list[BatchReport] = []
        now = asyncio.get_running_loop().time
        self.book = Register(self.reports.append, now, lambda _: False)
        self.hooks = self.book.hooks = HookServer(
            self.socket,
            slurm_user=os.geteuid(),
            on_offer=self._offered,
            on_withdrawn=self.book.withdrawn,
            on_killed=self.book.killed,
            on_starting=self.book.starting,
            on_ended=lambda _: None,
        )
        slurm = Slurm(SlurmSettings(hook_socket=self.socket, bin=folder, command_timeout=PATIENCE))
        self.sequences = Sequences(slurm, Watch(_nothing_new, PATIENCE), self.hooks, self.book, now, SLURMS_DELAY)

    def _offered(self, offer: Offer) -> None:
        assert self.book.offered(offer)

    @property
    def told(self) -> list[str]:
        """What scontrol was called with."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    @property
    def kinds(self) -> list[str]:
        return [type(report).__name__ for report in self.reports]

    def learn(self, delay: int, restarts: int, ago: int = 5) -> BatchJob:
        """A job that was submitted or requeued so many seconds ago, and begins so many seconds after that."""
        now = int(time.time()) - ago
        self.row = replace(ROW, submitted_at=now, eligible_at=now + delay, restarts=restarts)
        self.book.learn(self.row)
        return self.book.jobs["7"]


async def _nothing_new() -> None:
    return


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    await desk.hooks.open()
    yield desk
    await desk.hooks.close()


@pytest.mark.parametrize("off", [-1, 0, 1])
async def test_nobody_wishes_what_slurm_does_after_a_requeue(desk: Desk, off: int) -> None:
    await desk.sequences.hasten(desk.learn(SLURMS_DELAY + off, restarts=1))
    assert desk.told == ["update jobid=7 starttime=now"]


async def test_a_job_does_not_start_in_the_second_in_which_its_last_run_ended(desk: Desk) -> None:
    """Nodes would refuse it, and it would fail."""
    await desk.sequences.hasten(desk.learn(SLURMS_DELAY, restarts=1, ago=-3600))
    told, _, delay = desk.told[0].rpartition("+")
    assert told == "update jobid=7 starttime=now"
    assert 3500 < int(delay) <= 3601


async def test_slurms_delay_after_a_requeue_is_shortened_once(desk: Desk) -> None:
    desk.learn(SLURMS_DELAY, restarts=1)
    await desk.sequences.mend(desk.row, 10)
    await desk.sequences.mend(desk.row, 10)
    assert desk.told == ["update jobid=7 starttime=now+10"]


@pytest.mark.parametrize(("delay", "restarts"), [(SLURMS_DELAY, 0), (120, 0), (3600, 0), (3600, 1)])
async def test_a_users_time_to_begin_is_respected(desk: Desk, delay: int, restarts: int) -> None:
    """Also that of a job of `sbatch --begin=now+2minutes`, which has never been requeued."""
    await desk.sequences.hasten(desk.learn(delay, restarts))
    await desk.sequences.mend(desk.row, 0)
    assert desk.told == []


async def test_a_turn_cannot_be_given_back_for_a_hook_that_has_gone_and_is_withdrawn(desk: Desk) -> None:
    job = desk.learn(0, restarts=0)
    reader, writer = await asyncio.open_unix_connection(desk.socket)
    writer.write(READY)
    assert await reader.readline() == b"parked\n"
    job.moved.clear()
    writer.transport.get_extra_info("socket").shutdown(2)
    writer.close()
    async with asyncio.timeout(PATIENCE):
        assert not await desk.sequences.give_back(job, 30)
        await job.moved.wait()
    assert desk.kinds == ["Appeared", "Offered", "Withdrawn"]
    assert desk.book.jobs["7"].phase is Phase.QUEUED


async def test_the_turn_that_a_job_gave_up_is_known_so_that_a_cancelled_one_which_comes_back_is_cancelled(
    desk: Desk,
) -> None:
    job = desk.learn(0, restarts=0)
    reader, writer = await asyncio.open_unix_connection(desk.socket)
    writer.write(READY)
    assert await reader.readline() == b"parked\n"
    giving_back = asyncio.create_task(desk.sequences.give_back(job, 30))
    assert await reader.readline() == b"yield\n"
    writer.close()
    desk.book.ended(replace(END, state="CANCELLED", submitted_at=job.submitted, started_at=None))
    assert await giving_back
    job.changed = 0.0
    await desk.book.see([replace(desk.row, restarts=1)], 1.0)
    for misled in desk.book.take_misled():
        await desk.sequences.set_right(misled)
    assert [words.split()[-1] for words in desk.told] == ["7"]


async def test_a_try_waits_for_the_hook_of_a_job_that_was_found_chosen(desk: Desk) -> None:
    desk.book.learn(replace(ROW, state="CONFIGURING"))
    trying = asyncio.create_task(desk.sequences.try_start(desk.book.jobs["7"], PATIENCE))
    await asyncio.sleep(0)
    desk.book.offered(OFFER)
    assert await trying
    assert (desk.told, desk.kinds) == ([], ["Appeared"])
