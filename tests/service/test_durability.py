"""Group commit: what leaves a domain waits until it is on disk, and many share one round of that."""

import asyncio
import errno
import os
import shutil
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from cosched.service.metrics import Metrics
from cosched.service.store import Store, StoreError
from cosched.service.store.durability import Durability
from tests.waiting import until

PATIENCE = 300.0


class Disk:
    """In the place of the system's: each round waits until it is let through, and may fail."""

    def __init__(self) -> None:
        self.rounds = 0
        self.fails = False
        self.free = Event()
        self.free.set()

    def sync(self, _: int) -> None:
        assert self.free.wait(PATIENCE)
        self.rounds += 1
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.fixture
def disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> Disk:  # noqa: ARG001
    """From now on."""
    made = Disk()
    monkeypatch.setattr(os, "fdatasync", made.sync)
    return made


class Domain:
    """What is written, and what has left since."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.failed: list[BaseException] = []
        self.left: list[int] = []
        self.durability = Durability(store, Metrics("test"), self.failed.append)

    def write(self, *, hurry: bool = True) -> None:
        with self.store.transaction():
            self.store.set_meta("number", str(self.store.commits + 1))
        commit = self.store.commits
        self.durability.when_durable(commit, lambda: self.left.append(commit), hurry=hurry)

    async def until_left(self, count: int) -> None:
        await until(lambda: len(self.left) >= count or self.failed)


async def test_nothing_leaves_before_it_is_on_disk(store: Store, disk: Disk) -> None:
    domain = Domain(store)
    disk.free.clear()
    domain.write()
    await asyncio.sleep(0)
    assert domain.left == []
    disk.free.set()
    await domain.until_left(1)
    assert (domain.left, disk.rounds) == ([1], 1)


async def test_what_is_on_disk_needs_no_round(store: Store, disk: Disk) -> None:
    domain = Domain(store)
    domain.write()
    await domain.until_left(1)
    domain.durability.when_durable(1, lambda: domain.left.append(0))
    assert (domain.left, disk.rounds) == ([1, 0], 1)


async def test_all_that_is_written_meanwhile_shares_the_next_round(store: Store, disk: Disk) -> None:
    domain = Domain(store)
    disk.free.clear()
    domain.write()
    await asyncio.sleep(0)  # the first round has begun
    await asyncio.sleep(0)
    for _ in range(99):
        domain.write()
    disk.free.set()
    await domain.until_left(100)
    assert (domain.left, disk.rounds) == ([*range(1, 101)], 2)


async def test_news_wait_for_a_round_that_others_need(store: Store, disk: Disk, monkeypatch) -> None:
    monkeypatch.setattr("cosched.service.store.durability.NEWS_WAIT", PATIENCE)
    domain = Domain(store)
    for _ in range(3):
        domain.write(hurry=False)
    await asyncio.sleep(0.01)
    assert (domain.left, disk.rounds) == ([], 0)
    domain.write()
    await domain.until_left(4)
    assert (domain.left, disk.rounds) == ([1, 2, 3, 4], 1)


async def test_news_do_not_wait_for_ever(store: Store, disk: Disk) -> None:
    domain = Domain(store)
    domain.write(hurry=False)
    await domain.until_left(1)
    assert (domain.left, disk.rounds) == ([1], 1)


async def test_a_failed_round_is_told_once_and_never_tried_again(store: Store, disk: Disk) -> None:
    domain = Domain(store)
    disk.fails = True
    domain.write()
    await domain.until_left(1)
    disk.fails = False
    domain.write()
    await asyncio.sleep(0.01)
    assert (domain.left, disk.rounds) == ([], 1)
    (error,) = domain.failed
    assert isinstance(error, StoreError)
    assert str(error).endswith("a.db-wal: Input/output error")


# The store


def test_a_database_that_was_left_open_is_written_to_disk_again_before_it_is_used(tmp_path, monkeypatch):
    """The pages of its log may count as written though they never were: the last service may have died of that."""
    with closing(Store.open(tmp_path / "x.db", "a")) as left, left.transaction():
        left.set_meta("number", "1")
        left._execute("COMMIT")
        for ending in ("", "-wal"):
            shutil.copy(tmp_path / f"x.db{ending}", tmp_path / f"y.db{ending}")
        left._execute("BEGIN")
    log, written, synced = tmp_path / "y.db-wal", [], []
    size = log.stat().st_size
    write, sync = os.pwrite, os.fdatasync
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: written.append((at, len(data))) or write(fd, data, at))
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(len(written)) or sync(fd))
    with closing(Store.open(tmp_path / "y.db", "a")) as found:
        assert found.meta("number") == "1"
    assert (written, synced) == ([(0, size)], [1])


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_a_database_whose_file_is_moved_takes_nothing_until_it_is_back(store: Store, tmp_path: Path, ending: str):
    path = tmp_path / f"a.db{ending}"
    path.rename(tmp_path / "elsewhere")
    for content in (None, b""):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(StoreError, match="was moved, removed or replaced: put it back"), store.transaction():
            raise AssertionError
    (tmp_path / "elsewhere").rename(path)
    with store.transaction():
        store.set_meta("number", "1")
    assert store.meta("number") == "1"
