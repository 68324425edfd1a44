"""What cannot be run, and files that cannot be trusted: a clear reason, and nothing else happens."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from cosched_adapters.launcher import JobSpec, SpecError
from cosched_adapters.local import process
from cosched_adapters.manager import End, Ended, ManagerError, SettingError
from tests.adapters.machine import Machine, machine
from tests.small_disk import mounted
from tests.waiting import until

GOOD: dict[str, Any] = {"job_id": "1", "nodes": 1, "walltime": 10, "directory": "/", "command": ("true",)}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"job_id": "../x"}, "job_id"),
        ({"job_id": ".x"}, "job_id"),
        ({"job_id": ""}, "job_id"),
        ({"job_id": "x" * 101}, "job_id"),
        ({"nodes": 0}, "nodes"),
        ({"nodes": 9}, "nodes"),
        ({"walltime": 0}, "walltime"),
        ({"walltime": 1.5}, "walltime"),
        ({"command": ()}, "command"),
        ({"command": ("a\0b",)}, "command"),
        ({"command": ("true", "x" * 32769)}, "command"),
        ({"command": ("true",) * 4097}, "command"),
        ({"command": ("true", *["x" * 32000] * 40)}, "command"),
        ({"script": b"echo no interpreter"}, "script"),
        ({"script": b"#!" + b"x" * (1 << 20)}, "script"),
        ({"script": b"#!/bin/sh\r\ntrue\r\n"}, "script"),
        ({"environment": {"A=B": "c"}}, "environment"),
        ({"environment": {"A": "\0"}}, "environment"),
        ({"environment": {"": "x"}}, "environment"),
        ({"directory": "relative"}, "directory"),
        ({"output": ""}, "output"),
        ({"error": "x" * 5000}, "error"),
        ({"name": "two\nlines"}, "name"),
        ({"mate": "eureka"}, "mate"),
        ({"pair": "x" * 129}, "pair"),
        ({"user": "no such user here"}, "user"),
    ],
)
async def test_bad_specification(place: Path, change: dict[str, Any], field: str) -> None:
    async with machine(place) as here:
        with pytest.raises(SpecError) as caught:
            await here.manager.launch(JobSpec(**(GOOD | change)))
        assert caught.value.field == field
        assert len(str(caught.value)) < 200
        with pytest.raises(SpecError, match=f"^{re.escape(str(caught.value))}$"):
            here.manager.check(JobSpec(**(GOOD | change)))
        here.manager.check(JobSpec(**GOOD))
        assert os.listdir(place / "jobs") == [".lock"]


def test_specification_does_not_show_secrets() -> None:
    spec = JobSpec(**(GOOD | {"environment": {"TOKEN": "hush"}, "command": ("x", "hush"), "script": b"#!hush"}))
    assert "hush" not in repr(spec)


async def test_what_cannot_start_ends_with_a_reason(place: Path) -> None:
    (place / "link").symlink_to(place / "elsewhere")
    (place / "linked").write_text("keep")
    (place / "other name").hardlink_to(place / "linked")
    (place / "plain").write_text("#!/bin/sh\n")
    os.mkfifo(place / "fifo")
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "directory": ({"directory": "/no/such"}, "working directory '/no/such': No such file or directory"),
        "file": ({"directory": "/etc/passwd"}, "working directory '/etc/passwd': Not a directory"),
        "output": ({"output": "no/such"}, "output file 'no/such': No such file or directory"),
        "error": ({"error": "."}, "error file '.': Is a directory"),
        "link": ({"output": "link"}, "output file 'link': is a symbolic link"),
        "linked": ({"output": "linked"}, "output file 'linked': exists, and is not a plain file of"),
        "fifo": ({"output": "fifo"}, "output file 'fifo': No such device or address"),
        "missing": ({"command": ("no-such-command",)}, "command 'no-such-command': not found in PATH"),
        "path": ({"command": ("/no/such/command",)}, "command '/no/such/command': No such file or directory"),
        "denied": ({"command": ("./plain",)}, "command './plain': Permission denied"),
        "search": ({"command": ("plain",), "environment": {"PATH": str(place)}}, "command 'plain': Permission denied"),
        "shebang": ({"script": b"#!/no/such/shell -e\n"}, "script: its interpreter '/no/such/shell' is missing"),
    }
    async with machine(place, slots=20) as here:
        for name, (change, _) in cases.items():
            values = GOOD | {"directory": str(place), "output": f"{name}.out"} | change | {"job_id": name}
            await here.manager.launch(JobSpec(**values))
        for name, (_, reason) in cases.items():
            end = await here.ended(name)
            assert (name, end.how, end.reason[: len(reason)]) == (name, End.UNSTARTED, reason)
            assert (end.started_at, end.exit_code, end.signal) == (None, None, None)
        assert all(isinstance(report, Ended) for report in here.told)
    assert not (place / "elsewhere").exists()
    assert (place / "linked").read_text() == "keep"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"boot": 5}', b"[" * 200000, b"\xff\xfe", b"null"])
@pytest.mark.parametrize("name", ["job.json", "record.json"])
async def test_files_that_cannot_be_used(place: Path, name: str, content: bytes) -> None:
    async with machine(place) as here:
        await here.run("1", "true")
    folder = place / "jobs" / "1"
    if name == "job.json":
        (folder / "record.json").unlink()
    (folder / name).write_bytes(content)
    async with machine(place) as again:
        end = await again.ended("1")
        assert end.how is End.LOST
        assert end.reason.startswith("its files cannot be used (")


async def test_record_that_is_a_link_is_not_followed(place: Path) -> None:
    async with machine(place) as here:
        await here.run("1", "true")
    record = place / "jobs" / "1" / "record.json"
    record.rename(place / "elsewhere.json")
    record.symlink_to(place / "elsewhere.json")
    async with machine(place) as again:
        assert (await again.ended("1")).how is End.LOST


async def test_supervisor_that_cannot_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = place / "broken.py"
    broken.write_text("raise SystemExit('out of order')\n")
    monkeypatch.setattr(process, "_COMMAND", (*process._COMMAND[:-1], str(broken)))
    async with machine(place) as here:
        end = await here.run("1", "true")
        assert (end.how, end.reason) == (End.UNSTARTED, "its supervisor cannot run (out of order)")
    async with machine(place) as again:
        assert again.found == {"1": end}


async def test_folder_that_vanishes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched_adapters.local.follow.PAUSE", 0.05)
    async with machine(place) as here:
        await here.launch("1", "/bin/sh", "-c", "while ! test -e gate; do sleep 0.05; done")
        await here.started("1")
        for file in (place / "jobs" / "1").iterdir():
            file.unlink()
        (place / "jobs" / "1").rmdir()
        (place / "gate").touch()
        end = await here.ended("1")
        assert (end.how, "folder in the spool" in end.reason) == (End.LOST, True)


async def test_spool_is_private_and_of_one_service(place: Path) -> None:
    async with machine(place) as here:
        await here.run("1", "true", script=b"#!/bin/sh\n")
        for path in [place / "jobs", *(place / "jobs").rglob("*")]:
            assert path.stat().st_mode & 0o077 == 0, path
        with pytest.raises(ManagerError, match="another service uses this spool"):
            async with machine(place):
                pass
    (place / "jobs").chmod(0o755)
    await refused(place, "mode 0700")
    (place / "jobs").rename(place / "there")
    (place / "jobs").symlink_to(place / "there")
    await refused(place, "mode 0700")


@pytest.mark.parametrize("mode", [None, 0o755])
async def test_the_manager_s_own_folder_is_private_whether_it_is_new_or_not(place: Path, mode: int | None) -> None:
    if mode is not None:
        (place / "local").mkdir(mode)
    async with machine(place, spool="jobs"):
        assert (place / "local").stat().st_mode & 0o777 == 0o700
        assert (place / "local" / "jobs" / ".lock").exists()


async def refused(place: Path, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        async with machine(place) as _:
            pass


async def test_foreign_things_in_the_spool_are_left_alone(place: Path) -> None:
    async with machine(place):
        pass
    (place / "jobs" / "note.txt").write_text("not a job")
    (place / "jobs" / ".new-7").mkdir()
    async with machine(place) as here:
        assert here.found == {}
    assert sorted(os.listdir(place / "jobs")) == [".lock", "note.txt"]


async def test_job_runs_on_though_its_start_cannot_be_recorded_yet(place: Path) -> None:
    with mounted(place / "jobs", "64k", "--lazy") as spool:
        async with machine(place) as here:
            await here.run("1", "true")
            filler = fill(spool, but=2)  # what a launch writes before the start
            await here.launch("2", "sh", "-c", "echo runs; while [ ! -e go ]; do sleep 0.05; done")
            assert await here.line("2") == "runs"
            await until((spool / "2" / "record.json.new").exists)  # there is no room for what it should say
            assert here.record("2").started is None
            filler.unlink()
            await here.started("2")
            (place / "go").touch()
            assert (await here.ended("2")).succeeded


def fill(disk: Path, but: int) -> Path:
    """Leave so many free blocks; the file that has all others."""
    about = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(bytes((about.f_bfree - but) * about.f_bsize))
    assert os.statvfs(disk).f_bfree == but
    return filler


async def test_full_disk_refuses_the_launch(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with machine(place) as here:
        with monkeypatch.context() as patch:
            patch.setattr("cosched_adapters.local.files.write_all", full)
            with pytest.raises(ManagerError, match="cannot be recorded: No space left on device"):
                await here.launch("1", "true")
        assert os.listdir(place / "jobs") == [".lock"]
        assert (await Machine.run(here, "1", "true")).succeeded
