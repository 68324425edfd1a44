"""Restarts, kill -9 of service and supervisors, numbers of processes used again."""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from cosched_adapters.local import record
from cosched_adapters.local.jobfile import JobFile
from cosched_adapters.local.process import ForkServer
from cosched_adapters.local.processes import Identity, boot, identify, myself
from cosched_adapters.local.record import Record
from cosched_adapters.local.recovery import recover
from cosched_adapters.local.spool import Spool
from cosched_adapters.manager import End, Ended, ManagerError, Started
from tests.adapters.machine import Machine, children, fork_server, lives, machine, ours
from tests.waiting import until

FOREVER = ("/bin/sh", "-c", "echo $$; while :; do sleep 0.2; done")


@contextmanager
def service(place: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.adapters.service", str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        try:
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str], *job: str) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def lost(here: Machine, job: str) -> Ended:
    end = await here.ended(job)
    assert end.how is End.LOST
    return end


async def test_kill_9_of_the_service(place: Path) -> None:
    with service(place) as process:
        tell(process, "long", *FOREVER)
        tell(process, "short", "/bin/sh", "-c", f"while ! test -e {place}/gate; do sleep 0.05; done; exit 9")
        assert [hear(process), hear(process)] == ["launched long", "launched short"]
        jobs = [place / "jobs" / job for job in ("long", "short")]
        await until(lambda: all((known := record.read(str(job))) and known.started for job in jobs))
        process.kill()
        process.wait()
    (place / "gate").touch()
    await until(lambda: (known := record.read(str(place / "jobs" / "short"))) is not None and known.how is not None)
    async with machine(place) as here:
        long, short = here.found["long"], here.found["short"]
        assert isinstance(long, Started)
        assert isinstance(short, Ended)
        assert (short.how, short.exit_code) == (End.EXITED, 9)
        assert not here.told
        with pytest.raises(ManagerError, match="slots wanted"):
            await here.launch("large", "true", nodes=8)  # the slots of the job that was found again are taken
        await here.manager.cancel("long")
        assert (await here.ended("long")).started_at == long.at
        await here.manager.forget("short")
    async with machine(place) as here:
        assert set(here.found) == {"long"}


async def test_a_killed_service_leaves_no_fork_server(place: Path) -> None:
    with service(place) as process:
        await until(lambda: len(ours(place)) == 2)
        process.kill()
        process.wait()
        await until(lambda: not ours(place))


async def test_kill_9_of_the_service_at_any_instant(place: Path) -> None:
    """Every launch that was answered ends as it should, and none runs twice."""
    chance = random.Random(1)
    answered: set[str] = set()
    for attempt in range(6):
        with service(place) as process:
            for job in range(5):
                tell(process, f"{attempt}.{job}", "/bin/sh", "-c", f"echo x >> {place}/{attempt}.{job}")
            for _ in range(chance.randrange(5)):
                answered.add(hear(process).removeprefix("launched "))
            time.sleep(chance.random() * 0.03)
            process.kill()
            process.wait()
    async with machine(place) as here:
        assert answered <= set(here.found)
        for job, last in here.found.items():
            end = last if isinstance(last, Ended) else await here.ended(job)
            assert end.succeeded
            assert (place / job).read_text() == "x\n"


async def test_stopped_and_started_again(place: Path) -> None:
    async with machine(place) as here:
        await here.launch("1", "/bin/sh", "-c", "echo $$; while ! test -e gate; do sleep 0.05; done; exit 6")
        pid = int(await here.line("1"))
        await here.started("1")
    assert lives(pid)
    async with machine(place) as again:
        assert isinstance(again.found["1"], Started)
        (place / "gate").touch()
        end = await again.ended("1")
        assert (end.how, end.exit_code) == (End.EXITED, 6)
        assert [type(report) for report in again.told] == [Ended]
    assert not lives(pid)


async def test_a_launch_on_record_is_carried_out_once(place: Path) -> None:
    """The service is stopped just after the launch is on record; the next one carries it out."""
    for job in range(10):
        async with machine(place) as here:
            await here.launch(f"{job}", "/bin/sh", "-c", f"echo x >> count{job}; sleep 0.1")
            await asyncio.sleep(0.004 * job)
        async with machine(place) as again:
            known = again.found[f"{job}"]
            end = known if isinstance(known, Ended) else await again.ended(f"{job}")
            assert end.succeeded
            kinds = [type(report) for report in again.told]
            assert kinds in ([Started, Ended], [Ended], [])
            assert (place / f"count{job}").read_text() == "x\n"


@asynccontextmanager
async def second_supervisor(here: Machine, job: str) -> AsyncIterator[None]:
    """One of a service that did not find the first one on record; it waits for that, and goes on after the block."""
    forks = ForkServer(here.manager.settings.spool)
    forks.begin()
    process = forks.start(job)
    server = forks._process.pid
    await until(lambda: children(server))
    [waits] = children(server)
    await until(lambda: f"-> POSIX  ADVISORY  WRITE {waits} " in Path("/proc/locks").read_text())
    os.kill(waits, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(waits, signal.SIGCONT)
    await until(lambda: process.exited)
    await forks.close()


async def test_a_supervisor_that_has_waited_in_vain_leaves_the_next_launch_alone(place: Path) -> None:
    """A job that was preempted has been launched again meanwhile, in a folder of the same name."""
    async with machine(place) as here:
        await here.launch("1", *FOREVER)
        await here.started("1")
        async with second_supervisor(here, "1"):
            await here.manager.preempt("1")
            await here.ended("1")
            await here.manager.forget("1")
            here.told.clear()
            await here.launch("1", *FOREVER)
            await here.started("1")
        assert here.record("1").how is None
        await here.manager.cancel("1")
        assert (await here.ended("1")).how is End.CANCELLED


def test_a_launch_that_is_being_forgotten_can_be_started_no_more(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever of its folder is removed first."""
    spool = Spool(place / "jobs", place)
    spool.open()
    job = JobFile(
        job_id="1", token="0" * 32, boot=boot(), arguments=["true"], script=False, environment={}, directory="/",
        output="out", error=None, walltime=60, grace=0, uid=None, groups=[], slots=[0], group=None, nice=0,
    )  # fmt: skip
    spool.commit(job, None)
    ended = Record(boot(), None, None)
    ended.ended, ended.how = 1, "exited"
    ended.write(spool.folder("1"))
    monkeypatch.setattr(shutil, "rmtree", lambda path, **_: (Path(path) / record.NAME).unlink(missing_ok=True))
    spool.remove("1")
    assert recover(str(place / "jobs" / ".old-1")) is None
    spool.close()


async def test_kill_9_of_the_supervisor(place: Path) -> None:
    async with machine(place) as here:
        script = "echo $$; setsid sleep 300 & echo $!; exec sleep 300"
        await here.launch("1", "/bin/sh", "-c", script)
        await here.started("1")
        await here.line("1", 1)
        supervisor = here.record("1").supervisor
        assert supervisor is not None
        os.kill(supervisor.pid, signal.SIGKILL)
        end = await lost(here, "1")
        assert end.reason == "its supervisor died; 2 of its processes were killed"
        assert not any(lives(int(pid)) for pid in here.output("1").split())
        assert end.started_at == (await here.started("1")).at


@pytest.mark.usefixtures("tireless")
async def test_kill_9_of_the_supervisor_at_any_instant(place: Path) -> None:
    async with machine(place, slots=20) as here:
        for job in range(20):
            await here.launch(f"{job}", "/bin/sh", "-c", f"echo x >> count{job}; sleep 0.2")
            await asyncio.sleep(0.002 * job)
            for supervisor in children(fork_server(here))[-1:]:
                with suppress(ProcessLookupError):  # its job has ended
                    os.kill(supervisor, signal.SIGKILL)
        for job in range(20):
            end = await here.ended(f"{job}")
            assert end.succeeded or end.how is End.LOST
            count = place / f"count{job}"
            assert (count.read_text() if count.exists() else "") in ("x\n", "")


async def test_kill_9_of_both(place: Path) -> None:
    async with machine(place) as here:
        await here.launch("1", *FOREVER)
        pid = int(await here.line("1"))
        await here.started("1")
        supervisor = here.record("1").supervisor
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    assert lives(pid)
    async with machine(place) as again:
        assert isinstance(again.found["1"], Started)
        await lost(again, "1")
        assert not lives(pid)


async def test_supervisor_told_to_end(place: Path) -> None:
    async with machine(place) as here:
        await here.launch("1", *FOREVER)
        pid = int(await here.line("1"))
        supervisor = here.record("1").supervisor
        assert supervisor is not None
        supervisor.send(signal.SIGTERM)
        assert (await lost(here, "1")).reason == "its supervisor was told to end"
        assert not lives(pid)


async def test_a_number_used_again_is_not_the_process(place: Path) -> None:
    """An innocent process has the numbers that the record names, not its start time."""
    innocent = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        async with machine(place) as here:
            await here.run("1", "true")
        there = identify(innocent.pid)
        before = Identity(there.pid, there.start - 1)
        forged = Record(boot(), before, before)
        forged.started = time.time_ns()
        forged.write(str(place / "jobs" / "1"))
        async with machine(place) as again:
            assert isinstance(again.found["1"], Started)
            await again.manager.cancel("1")
            end = await again.ended("1")
            assert end.reason == "its supervisor died; none of its processes was found"
        before.send(signal.SIGKILL)
        assert there.alive()
        assert not before.alive()
    finally:
        innocent.kill()
        innocent.wait()


async def test_after_a_restart_of_the_host_nothing_is_killed_or_started(place: Path) -> None:
    innocent = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        async with machine(place) as here:
            await here.run("ran", "true")
            await here.run("launched", "true")
        earlier = Record("another boot", myself(), identify(innocent.pid))
        earlier.started = time.time_ns()
        earlier.write(str(place / "jobs" / "ran"))
        (place / "jobs" / "launched" / "record.json").unlink()
        job = place / "jobs" / "launched" / "job.json"
        job.write_text(job.read_text().replace(boot(), "another boot"))
        async with machine(place) as again:
            assert (await lost(again, "ran")).reason == "the host was restarted"
            assert (await lost(again, "launched")).reason.startswith("the host was restarted before")
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


async def test_a_spool_of_another_boot_may_have_forgotten_launches(place: Path) -> None:
    async with machine(place) as here:
        assert not here.manager.may_have_forgotten
        await here.run("1", "/bin/true")
    async with machine(place) as again:
        assert not again.manager.may_have_forgotten
    (place / "jobs" / ".boot").write_text('{"boot": "another"}')
    for _ in range(2):  # until something is launched
        async with machine(place) as later:
            assert later.manager.may_have_forgotten
    async with machine(place) as later:
        await later.run("2", "/bin/true")
    async with machine(place) as last:
        assert not last.manager.may_have_forgotten
