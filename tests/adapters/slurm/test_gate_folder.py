"""The folder of the gates' files: what is written there, what is removed, and what a start does without it."""

import asyncio
import logging
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cosched_adapters.manager import SettingError
from cosched_adapters.slurm import gate_folder
from cosched_adapters.slurm.gate_folder import GateFolder
from tests.hanging_folder import hanging
from tests.small_disk import mounted
from tests.waiting import until

PATIENCE = 60.0  # seconds; a safety net
LONG_AGO = 1.0  # seconds since 1970


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING)
    return lambda: [record.getMessage() for record in caplog.records]


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


async def test_a_file_says_the_instant_to_everybody(folder: Path, warnings) -> None:
    gates = GateFolder(folder, PATIENCE)
    before = os.umask(0o077)
    try:
        await gates.announce("17", 1795279039.25)
    finally:
        os.umask(before)
    assert (folder / "17").read_text() == "at=1795279039.250000000\n"
    assert stat.S_IMODE((folder / "17").stat().st_mode) == 0o644
    assert names(folder) == ["17"]
    await gates.announce("17", 1795279040.5, {"COSCHED_MATES": '["a b"]', "COSCHED_PORTS": "1-2"})
    assert (folder / "17").read_text() == 'at=1795279040.500000000\nCOSCHED_MATES=["a b"]\nCOSCHED_PORTS=1-2\n'
    await gates.announce("17", 1795279040.5, {"COSCHED_MATES": 4096 * "x"})
    assert (folder / "17").read_text() == "at=1795279040.500000000\n"
    assert warnings() == []


async def test_many_jobs_may_be_let_go_at_once(folder: Path) -> None:
    gates = GateFolder(folder, PATIENCE)
    await asyncio.gather(*(gates.announce(str(job), time.time() + 100) for job in range(1, 101)))
    assert len(names(folder)) == 100


async def test_files_go_after_their_instants(folder: Path) -> None:
    gates = GateFolder(folder, PATIENCE)
    await gates.open()
    clearing = asyncio.create_task(gates.keep_clear())
    await gates.announce("1", time.time() + 0.1)
    await gates.announce("2", time.time() + 1000)
    await until(lambda: "1" not in names(folder))
    assert names(folder) == ["2"]
    clearing.cancel()


async def test_leftovers_go_when_the_service_starts_and_what_is_not_ours_stays(folder: Path) -> None:
    (folder / "1").write_text("at=1.000000000\n")
    (folder / "1.new").write_text("")
    os.utime(folder / "1.new", (LONG_AGO, LONG_AGO))
    stay = {
        "2": f"at={time.time() + 9:.9f}\n", "3.new": "", "2024": "diary", "007": "at=1.0\n", "a4": "at=1.000000000\n",
    }  # fmt: skip
    for name, text in stay.items():
        (folder / name).write_text(text)
    (folder / "precious").write_text("at=1.000000000\n")
    (folder / "5").symlink_to("precious")
    (folder / "6").mkdir()
    os.mkfifo(folder / "7")
    await GateFolder(folder, PATIENCE).open()
    assert names(folder) == sorted([*stay, "precious", "5", "6", "7"])


async def test_what_lies_in_the_way_is_replaced_and_never_followed(folder: Path, warnings) -> None:
    (folder / "precious").write_text("x")
    for name in ("1", "1.new"):
        (folder / name).symlink_to("precious")
    os.mkfifo(folder / "2.new")
    (folder / "3").mkdir()
    gates = GateFolder(folder, PATIENCE)
    for job in ("1", "2", "3"):
        await gates.announce(job, 5.0)
    assert (folder / "precious").read_text() == "x"
    assert (folder / "1").read_text() == (folder / "2").read_text() == "at=5.000000000\n"
    assert names(folder) == ["1", "2", "3", "precious"]
    assert [said.partition(":")[0] for said in warnings()] == ["job 3"]


@pytest.mark.parametrize("lost", ["missing", "a file"])
async def test_a_service_does_not_start_without_its_folder(folder: Path, lost: str) -> None:
    place = folder / "gates"
    if lost == "a file":
        place.write_text("")
    reason = "^gate_folder: .*/gates must be a folder in which files can be written: (No such file|Not a directory)"
    with pytest.raises(SettingError, match=reason):
        await GateFolder(place, PATIENCE).open()


async def test_a_folder_that_has_gone_costs_a_warning(folder: Path, warnings) -> None:
    place = folder / "gates"
    place.mkdir()
    gates = GateFolder(place, PATIENCE)
    await gates.open()
    place.rmdir()
    await gates.announce("17", 5.0)
    (said,) = warnings()
    assert said.startswith("job 17: its tasks may not wait for the agreed instant: gate_folder ")
    assert said.endswith("/gates: No such file or directory")
    place.mkdir()
    await gates.announce("17", 5.0)
    assert names(place) == ["17"]


async def test_a_full_disk_costs_a_warning_and_leaves_nothing_behind(folder: Path, warnings) -> None:
    with mounted(folder / "disk", "16k") as disk:
        with suppress(OSError), (disk / "much").open("wb", buffering=0) as much:
            while True:
                much.write(bytes(4096))
        await GateFolder(disk, PATIENCE).announce("17", 5.0)
        assert names(disk) == ["much"]
    (said,) = warnings()
    assert said.endswith("No space left on device")


async def test_no_start_waits_long_for_a_file_server_that_hangs(folder: Path, warnings) -> None:
    """The first waits for its patience, the others not at all until the server has answered."""
    gates = GateFolder(folder, 0.05)
    with hanging(folder):
        for job in ("1", "2", "3"):
            await gates.announce(job, 5.0)
        assert names(folder) in ([], ["1.new"])
    assert [said.rpartition(": ")[2] for said in warnings()] == ["no answer"] * 3
    async with asyncio.timeout(PATIENCE):
        while "4" not in names(folder):
            await gates.announce("4", 5.0)
            await asyncio.sleep(0.01)


async def test_a_service_starts_though_the_file_server_hangs(folder: Path, warnings, monkeypatch) -> None:
    monkeypatch.setattr(gate_folder, "_OPEN_PATIENCE", 0.05)
    with hanging(folder):
        await GateFolder(folder, PATIENCE).open()
    assert warnings() == [f"gate_folder {folder} cannot be used: no answer"]
