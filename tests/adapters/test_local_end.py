"""Walltime, cancelling, and processes that do not want to go."""

import asyncio
import time
from pathlib import Path

import pytest

from cosched_adapters.manager import End, ManagerError, UnknownJobError
from tests.adapters.machine import lives, machine
from tests.waiting import until

WALLTIME = 7  # seconds; far more than a shell needs to set its traps, even on a machine that stalls
STUBBORN = "trap '' TERM; echo $$; while :; do sleep 0.2; done"
LEAVE = "(env -i setsid /bin/sh -c '/bin/echo $$; exec /bin/sleep 300' &)"  # without parent, session, environment


async def test_walltime(place: Path) -> None:
    """It ends a job that has seen its service go, and one that was launched by the service that sees its end."""
    async with machine(place) as here:
        asked = "trap 'echo asked; exit 5' TERM; sleep 300 & wait"
        await here.launch("soft", "/bin/sh", "-c", asked, walltime=WALLTIME)
        await here.started("soft")
    async with machine(place) as here:
        hard = await here.run("hard", "/bin/sh", "-c", STUBBORN, walltime=WALLTIME)
        soft = await here.ended("soft")
    assert (soft.how, soft.exit_code, here.output("soft")) == (End.TIMEOUT, 5, "asked\n")
    assert (hard.how, hard.signal, hard.exit_code) == (End.TIMEOUT, 9, None)
    assert hard.reason == f"its walltime of {WALLTIME} s was over"
    assert hard.started_at is not None
    assert WALLTIME + 0.9 < (hard.at - hard.started_at) / 1e9 < WALLTIME + 30  # with the grace time


@pytest.mark.parametrize(
    "script",
    [
        "sh -c 'sleep 300 & echo $!; wait' & wait",  # a grandchild
        "set -m; sleep 300 & echo $!; wait",  # in a process group of its own
        "setsid sh -c 'echo $$; exec sleep 300' & wait",  # in a session of its own
        "(setsid sh -c 'echo $$; exec sleep 300' &) ; sleep 300",  # and without its parent
        f"{LEAVE}; sleep 300",
        STUBBORN,
        "echo $$; kill -STOP $$",
    ],
)
async def test_cancel_ends_all_processes(place: Path, script: str) -> None:
    async with machine(place, grace=0.3) as here:
        await here.launch("1", "/bin/bash", "-c", script)
        pid = int(await here.line("1"))
        assert lives(pid)
        await here.manager.cancel("1")
        await here.manager.cancel("1")
        end = await here.ended("1")
        assert not lives(pid)
        assert (end.how, end.reason) == (End.CANCELLED, "")
        await here.manager.cancel("1")  # ended: nothing to do


async def test_what_a_job_tries_to_leave_behind_ends_with_it(place: Path) -> None:
    async with machine(place) as here:
        end = await here.run("1", "/bin/sh", "-c", f"{LEAVE}; while ! grep -q . *.out; do sleep 0.1; done; exit 4")
        assert (end.how, end.exit_code, end.reason) == (End.EXITED, 4, "")
        assert not lives(int(here.output("1")))


async def test_orphans_of_a_job_that_have_ended_are_no_zombies(place: Path) -> None:
    async with machine(place) as here:
        await here.launch("1", "/bin/bash", "-c", "for i in {1..9}; do (sleep 0.0$i &); done; echo; sleep 300")
        await here.line("1")
        supervisor = here.record("1").supervisor
        assert supervisor is not None
        children = Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children")
        await until(lambda: len(children.read_text().split()) == 1)
        await here.manager.cancel("1")
        await here.ended("1")


async def test_cancel_at_once(place: Path) -> None:
    async with machine(place, slots=20) as here:
        for job in range(20):
            await here.launch(f"{job}", "sleep", "100")
            await asyncio.sleep(0.003 * job)
            await here.manager.cancel(f"{job}")
        assert {(await here.ended(f"{job}")).how for job in range(20)} == {End.CANCELLED}


async def test_nodes_are_free_when_the_job_has_ended(place: Path) -> None:
    async with machine(place, slots=2, grace=0.2) as here:
        await here.launch("1", "/bin/sh", "-c", STUBBORN)
        with pytest.raises(ManagerError, match="2 slots wanted, 1 of 2 are free"):
            await here.launch("2", "true", nodes=2)
        await here.line("1")
        await here.manager.cancel("1")
        with pytest.raises(ManagerError, match="has not ended"):
            await here.manager.forget("1")
        await here.ended("1")
        assert (await here.run("2", "true", nodes=2)).succeeded


async def test_launched_twice_starts_once(place: Path) -> None:
    async with machine(place) as here:
        await asyncio.gather(*(here.launch("1", "/bin/sh", "-c", "echo x >> count") for _ in range(5)))
        await here.ended("1")
        await here.launch("1", "/bin/sh", "-c", "echo x >> count")
        await until(lambda: here.record("1").how is not None)
        assert (place / "count").read_text() == "x\n"
        await here.manager.forget("1")
        await here.manager.forget("1")
        assert not (place / "jobs" / "1").exists()
        with pytest.raises(UnknownJobError):
            await here.manager.cancel("1")


async def test_the_end_is_told_soon(place: Path) -> None:
    """At once; the median, since the machine may stall for seconds now and then."""
    async with machine(place) as here:
        ages = []
        for job in range(5):
            end = await here.run(f"{job}", "true")
            ages.append((time.time_ns() - end.at) / 1e9)
        assert sorted(ages)[2] < 2


async def test_a_preempted_job_is_asked_to_end_and_can_be_launched_again(place: Path) -> None:
    """Nothing is left of its first run but what that has saved; its output begins anew."""
    script = "trap 'touch saved; exit 0' TERM; [ -e saved ] && echo again && exit 3; echo $$; sleep 300 & wait"
    async with machine(place) as here:
        await here.launch("1", "/bin/sh", "-c", script)
        pid = int(await here.line("1"))
        await here.manager.preempt("1")
        end = await here.ended("1")
        assert (end.how, end.exit_code, lives(pid)) == (End.CANCELLED, 0, False)
        await here.manager.preempt("1")  # ended: nothing to do
        await here.manager.forget("1")
        with pytest.raises(UnknownJobError):
            await here.manager.preempt("1")
        here.told.clear()
        end = await here.run("1", "/bin/sh", "-c", script)
        assert (end.how, end.exit_code, here.output("1")) == (End.EXITED, 3, "again\n")
