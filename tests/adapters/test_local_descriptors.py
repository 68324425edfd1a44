"""A manager without descriptors loses no job: launches and what is known of jobs wait until there are some."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cosched.host import descriptors
from cosched_adapters.launcher import JobSpec, NoRoomError
from cosched_adapters.local import follow
from cosched_adapters.manager import End
from tests.adapters.machine import Machine, machine
from tests.waiting import until


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process can open no file meanwhile."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


def spec(place: Path, job: str, command: str) -> JobSpec:
    return JobSpec(job_id=job, nodes=1, walltime=60, directory=str(place), command=("/bin/sh", "-c", command))


async def wait_in_vain(here: Machine, caplog: pytest.LogCaptureFixture) -> None:
    """Until it has tried and has not succeeded, several times."""
    await until(lambda: "cannot be followed yet: Too many open files" in caplog.text)
    for _ in range(10):
        await asyncio.sleep(0.02)
    assert here.told == []


async def test_a_launch_that_finds_no_descriptor_is_to_be_tried_again(place: Path) -> None:
    async with machine(place) as here:
        with no_descriptors(), pytest.raises(NoRoomError, match="Too many open files"):
            await here.manager.launch(spec(place, "1", "exit 3"))
        await here.manager.launch(spec(place, "1", "exit 3"))
        assert (await here.ended("1")).exit_code == 3


async def test_a_supervisor_that_cannot_be_started_for_want_of_descriptors_is_waited_for(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(follow, "PAUSE", 0.02)
    async with machine(place) as here:
        commit = here.manager._commit
        limited = no_descriptors()

        def commit_the_last(*given) -> None:
            commit(*given)
            limited.__enter__()

        monkeypatch.setattr(here.manager, "_commit", commit_the_last)
        await here.manager.launch(spec(place, "1", "exit 3"))
        await wait_in_vain(here, caplog)
        limited.__exit__(None, None, None)
        end = await here.ended("1")
        assert (end.how, end.exit_code) == (End.EXITED, 3)
    assert caplog.text.count("cannot be followed yet") == 1


async def test_a_job_that_ends_while_there_are_no_descriptors_has_ended_afterwards(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(follow, "PAUSE", 0.02)
    async with machine(place) as here:
        await here.launch("1", "/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 4")
        await here.started("1")
        here.told.clear()
        (place / "come").touch()
        with no_descriptors():
            (place / "come").rename(place / "go")
            await wait_in_vain(here, caplog)
        end = await here.ended("1")
        assert (end.how, end.exit_code) == (End.EXITED, 4)


async def test_a_service_may_open_as_much_as_is_allowed_and_its_jobs_as_much_as_before(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors, "_before", None)
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (700, most))

    try:
        descriptors.raise_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(most, descriptors.ENOUGH), most)
        async with machine(place) as here:
            await here.run("1", "/bin/sh", "-c", "ulimit -Sn; ulimit -Hn")
            assert here.output("1").split() == ["700", str(most)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
