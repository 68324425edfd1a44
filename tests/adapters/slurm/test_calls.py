"""Running commands: deadlines, limits, environments; and when the queue is looked at."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cosched_adapters import programs, watch
from cosched_adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.settings import SlurmSettings
from cosched_adapters.watch import Watch
from deploy.lab.processes import all_processes

RECORDED = Path(__file__).with_name("recorded")


def slurm(folder: Path, script: str, timeout: float = 120.0) -> Slurm:
    """A Slurm whose commands are all this script."""
    for name in ("squeue", "scontrol", "sinfo", "scancel"):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    return Slurm(
        SlurmSettings(
            hook_socket=folder / "hooks.sock", conf=folder / "slurm.conf", bin=folder, command_timeout=timeout
        )
    )


async def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    hanging = slurm(tmp_path, "sleep 1000; true", timeout=0.5)
    with pytest.raises(UnavailableError, match=r"squeue: no answer from Slurm within 0\.5 s"):
        await hanging.queue()
    assert not [p for p in all_processes() if any(str(tmp_path) in argument for argument in p.arguments)]


async def test_a_command_that_prints_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_MOST_PRINTED", 1 << 20)
    with pytest.raises(ManagerError, match="more than 1048576 bytes"):
        await slurm(tmp_path, "exec yes").queue()


async def test_a_command_has_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    config = await slurm(tmp_path, "env | sed 's/=/ = /'").config()
    assert config.keys() <= {"PATH", "LC_ALL", "SLURM_TIME_FORMAT", "SLURM_CONF", "PWD", "SHLVL", "_", "OLDPWD"}
    assert (config["LC_ALL"], config["SLURM_CONF"]) == ("C", str(tmp_path / "slurm.conf"))


async def test_a_command_that_is_missing_or_cannot_be_run(tmp_path: Path) -> None:
    here = slurm(tmp_path, "true")
    (tmp_path / "sinfo").unlink()
    with pytest.raises(ManagerError, match="sinfo is not found"):
        await here.nodes()
    (tmp_path / "squeue").write_bytes(b"\x7fELF")
    with pytest.raises(ManagerError, match="squeue cannot be run"):
        await here.queue()


async def test_four_changes_run_at_once_at_most(tmp_path: Path) -> None:
    busy = slurm(tmp_path, f"cd {tmp_path}; mkdir run.$$; ls -d run.* | wc -l >> counts; sleep 0.05; rmdir run.$$")
    await asyncio.gather(*(busy.set_start(str(job), 0) for job in range(1, 41)))
    counts = [int(count) for count in (tmp_path / "counts").read_text().split()]
    assert len(counts) == 40
    assert max(counts) <= 4


async def test_many_jobs_are_asked_about_in_few_commands(tmp_path: Path) -> None:
    busy = slurm(tmp_path, f"echo $6 >> {tmp_path}/counts; [ $6 = -r ] || cat {RECORDED}/details.txt")
    assert len(await busy.details([str(job) for job in range(1, 2502)])) == 30
    assert (tmp_path / "counts").read_text() == "-j\n" * 3 + "-r\n"  # of the array that names mates


async def test_a_job_that_is_asked_about_alone_may_be_unknown(tmp_path: Path) -> None:
    assert await slurm(tmp_path, f"cat {RECORDED}/unknown.txt >&2; exit 1").details(["999"]) == []


async def test_what_slurm_does_not_answer_is_asked_again_until_it_does() -> None:
    answers = iter([UnavailableError("down"), UnavailableError("down"), UnknownJobError("no such job"), "an answer"])

    async def call() -> str:
        if isinstance(answer := next(answers), Exception):
            raise answer
        return answer

    with pytest.raises(UnknownJobError):
        await programs.until_it_answers(call, pauses=(0.001, 0.002))
    assert await programs.until_it_answers(call) == "an answer"


async def test_without_hints_the_queue_is_looked_at_once_an_interval() -> None:
    looks: list[float] = []
    three = asyncio.Event()

    async def look() -> None:
        looks.append(time.monotonic())
        if len(looks) == 3:
            three.set()

    began = time.monotonic()
    task = asyncio.create_task(Watch(look, interval=1.2).run())
    await three.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert all(at - began >= 1.2 * (number + 1) - 0.01 for number, at in enumerate(looks))


async def test_looks_that_nobody_waits_for_take_a_twentieth_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [0.0]
    looks = 0

    async def look() -> None:
        nonlocal looks
        looks += 1
        spent[0] += 10.0
        await asyncio.sleep(0)
        spent[0] += 5.0

    monkeypatch.setattr(watch, "PACE", 0.0)
    monkeypatch.setattr(watch.time, "thread_time", lambda: spent[0])
    watched = Watch(look, interval=60)
    task = asyncio.create_task(watched.run())
    assert await watched.fresh()
    assert watched._rest == 20 * 15.0
    watched.hint()
    for _ in range(100):
        await asyncio.sleep(0)
    assert looks == 1, "the next hint comes too soon"
    assert await watched.fresh()
    assert looks == 2, "and who waits is served at once"
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_look_that_fails_is_told_to_those_who_wait_for_it() -> None:
    answers = iter([ManagerError("down"), None])

    async def look() -> None:
        if (error := next(answers)) is not None:
            raise error

    watch = Watch(look, interval=60)
    task = asyncio.create_task(watch.run())
    assert await asyncio.gather(watch.fresh(), watch.fresh()) == [False, False]
    assert await watch.fresh()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    waiting = asyncio.create_task(watch.fresh())
    await asyncio.sleep(0)
    watch.close()
    assert not await waiting
