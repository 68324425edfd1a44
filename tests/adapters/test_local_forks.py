"""The fork server, from which supervisors come: it may die at any instant."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from cosched_adapters.local import files
from cosched_adapters.manager import End
from tests.adapters.machine import children, fork_server, lives, machine
from tests.waiting import until

COUNT = ("/bin/sh", "-c", "echo x >> count$COSCHED_JOB_ID")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_fork_server_that_died_unused(place: Path, number: signal.Signals) -> None:
    async with machine(place) as here:
        assert (await here.run("1", *COUNT)).succeeded
        first = fork_server(here)
        os.kill(first, number)
        await until(lambda: not lives(first))
        assert (await here.run("2", *COUNT)).succeeded
        assert fork_server(here) != first
        assert (await here.run("3", *COUNT)).succeeded
    assert [(place / f"count{job}").read_text() for job in (1, 2, 3)] == ["x\n"] * 3


async def test_fork_server_killed_with_launches_before_it(place: Path) -> None:
    async with machine(place) as here:
        os.kill(fork_server(here), signal.SIGSTOP)
        for job in range(5):
            await here.launch(f"{job}", *COUNT)
        await here.launch("5", *COUNT)
        await here.manager.cancel("5")
        os.kill(fork_server(here), signal.SIGKILL)
        for job in range(5):
            assert (await here.ended(f"{job}")).succeeded
            assert (place / f"count{job}").read_text() == "x\n"
        assert (await here.ended("5")).how is End.CANCELLED
        assert not (place / "count5").exists()


@pytest.mark.usefixtures("tireless")
async def test_fork_server_killed_at_any_instant(place: Path) -> None:
    """Jobs that have their supervisor do not notice; others get theirs from the next fork server. None runs twice."""
    chance = random.Random(2)
    async with machine(place, slots=30) as here:
        for job in range(30):
            await here.launch(f"{job}", *COUNT)
            await asyncio.sleep(chance.random() * 0.02)
            os.kill(fork_server(here), signal.SIGKILL)
        for job in range(30):
            assert (await here.ended(f"{job}")).succeeded
            assert (place / f"count{job}").read_text() == "x\n"


async def test_supervisor_killed_as_it_gets_its_job(place: Path) -> None:
    async with machine(place) as here:
        os.kill(fork_server(here), signal.SIGSTOP)
        await here.launch("1", *COUNT)
        held = files.lock(str(place / "jobs" / "1" / "lock"), wait=False)  # further than this it does not get
        os.kill(fork_server(here), signal.SIGCONT)
        await until(lambda: children(fork_server(here)) != [])
        (supervisor,) = children(fork_server(here))
        os.kill(supervisor, signal.SIGKILL)
        await until(lambda: children(fork_server(here)) not in ([], [supervisor]))
        os.close(held)
        assert (await here.ended("1")).succeeded
        assert (place / "count1").read_text() == "x\n"


async def test_nothing_is_handed_down(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_SECRET", "not for supervisors")
    async with machine(place) as here:
        await here.launch("1", "sleep", "100")
        await here.started("1")
        server = fork_server(here)
        (supervisor,) = children(server)
        for pid in (server, supervisor):
            assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        await until(lambda: sorted(os.listdir(f"/proc/{server}/fd")) == ["0", "1", "2"])  # it closes what it gave
        assert len({os.getsid(pid) for pid in (0, server, supervisor)}) == 3
        await here.manager.cancel("1")
        await here.ended("1")
