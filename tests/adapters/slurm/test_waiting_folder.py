"""The folder of the hooks' notes: which jobs wait by them, and which notes are removed."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cosched_adapters.manager import SettingError
from cosched_adapters.slurm.waiting_folder import WaitingFolder
from tests.adapters.slurm.desk import RUNNING

NOW = 1_800_000_000
SEEN = replace(RUNNING, submitted_at=NOW)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def note(folder: Path, text: str = "restarts=0\n", written: float = NOW + 10, job: str = "7") -> Path:
    path = folder / job
    path.write_text(text)
    os.utime(path, (written, written))
    return path


def test_a_job_waits_whose_hook_has_noted_so_in_this_turn(folder: Path) -> None:
    waiting = WaitingFolder(folder)
    assert not waiting.waits(SEEN)
    note(folder)
    assert waiting.waits(SEEN)
    assert not waiting.waits(replace(SEEN, restarts=1))
    assert not waiting.waits(replace(SEEN, job_id="8"))


def test_a_note_that_is_older_than_the_job_is_of_another_job_with_its_id(folder: Path) -> None:
    note(folder, written=NOW - 1)
    assert not WaitingFolder(folder).waits(SEEN)


@pytest.mark.parametrize("text", ["", "restarts=\n", "restarts=0", "restarts=x\n", "restarts=0\n" * 2, "\0" * 99])
def test_a_note_that_was_cut_off_says_nothing(folder: Path, text: str) -> None:
    note(folder, text)
    assert not WaitingFolder(folder).waits(SEEN)


def test_links_and_pipes_are_no_notes(folder: Path) -> None:
    note(folder, job="8")
    (folder / "7").symlink_to(folder / "8")
    os.mkfifo(folder / "9")
    assert not WaitingFolder(folder).waits(SEEN)
    assert not WaitingFolder(folder).waits(replace(SEEN, job_id="9"))


def test_without_a_folder_no_job_is_known_to_wait() -> None:
    waiting = WaitingFolder(None)
    waiting.open()
    assert not waiting.waits(SEEN)


def test_the_folder_is_made_or_refused(folder: Path) -> None:
    WaitingFolder(folder / "new").open()
    assert (folder / "new").is_dir()
    (folder / "file").touch()
    with pytest.raises(SettingError, match=r"^waiting_folder: "):
        WaitingFolder(folder / "file").open()


async def test_notes_that_mean_nothing_any_more_are_removed(folder: Path) -> None:
    long_ago = time.time() - 2 * 3600
    ids = ("7", "8", "9", "10", "11")
    for job in ids:
        note(folder, written=long_ago, job=job)
    note(folder, written=time.time(), job="12")  # newer than the look that does not show it, perhaps
    (folder / "README").touch()
    rows = [
        replace(RUNNING, job_id="7", state="CONFIGURING"),
        replace(RUNNING, job_id="8"),  # the manager is about to have it requeued
        replace(RUNNING, job_id="9", restarts=1),
        replace(RUNNING, job_id="10", state="CANCELLED"),
    ]
    waiting = WaitingFolder(folder)
    await waiting.sweep(rows)
    assert sorted(os.listdir(folder)) == ["12", "7", "8", "README"]
    note(folder, written=long_ago, job="11")
    await waiting.sweep(rows)  # not so soon again
    assert (folder / "11").exists()
