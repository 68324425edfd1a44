"""Damaged databases: whatever is overwritten or lost, the store says so in one line, or has all that was written."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from cosched.core.job import JobState
from cosched.service.store import Store, StoreError
from cosched.service.store.errors import REMEDY
from tests.service.store_examples import DOMAIN, add, event, job
from tests.tiers import seeds

PAGE = 4096
JOBS = 120
FILES = ("x.db", "x.db-wal", "x.db-shm", "x.db.lock", "x.db.sums")
FILL = """
import os, pathlib, signal, sys
from tests.service.test_store_damage import DOMAIN, Store, fill
store = Store.open(pathlib.Path(sys.argv[1]), DOMAIN)
fill(store)
os.kill(os.getpid(), signal.SIGKILL)
"""


def fill(store: Store) -> None:
    """Many transactions, more than the log holds until it is first copied into the database."""
    for number in range(1, JOBS + 1):
        state = JobState.COMPLETED if number % 3 else JobState.QUEUED
        add(store, [job(number, state, name=f"job {number} " + "x" * 700)], [event(number, job=number)])


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """The folder of a database that was closed in order."""
    folder = tmp_path_factory.mktemp("closed")
    with closing(Store.open(folder / "x.db", DOMAIN)) as store:
        fill(store)
    return folder


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of one whose service was killed: half of it is in its log alone."""
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run([sys.executable, "-c", FILL, folder / "x.db"], check=False)
    assert done.returncode == -signal.SIGKILL
    return folder


@pytest.fixture
def copy(tmp_path):
    """Copies a folder's database; its path there."""

    def copy(folder):
        for name in FILES:
            if (folder / name).exists():
                shutil.copy(folder / name, tmp_path)
        return tmp_path / "x.db"

    return copy


def contents(store):
    return store.jobs(None, None, False, 0, -1), store.events(0, [], [], -1), list(map(store.script, range(JOBS + 2)))


def damage(file, chance, kind):
    """Change a bit of a page, empty or overwrite a page, or lose it with all after it."""
    data = bytearray(file.read_bytes())
    first = chance.randrange(0, len(data), PAGE)
    if kind == "bit":
        data[min(first + chance.randrange(PAGE), len(data) - 1)] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[first:]
    else:
        page = bytes(PAGE) if kind == "empty" else chance.randbytes(PAGE)
        data[first : first + PAGE] = page[: len(data) - first]
    file.write_bytes(data)


def opened(path):
    """What the store has, or None if it says in one line why not, and leaves the database as it is."""
    files = [file for file in (path, path.with_name("x.db-wal")) if file.exists()]
    before = [file.read_bytes() for file in files]
    try:
        with closing(Store.open(path, DOMAIN)) as store:
            return contents(store)
    except StoreError as error:
        said = str(error)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    assert [file.read_bytes() for file in files] == before
    return None


KINDS = ["bit", "empty", "overwritten", "cut"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(6, 200))
@pytest.mark.parametrize(("of", "file"), [("closed", "x.db"), ("killed", "x.db-wal")])
def test_any_damage_of_a_closed_database_or_of_a_log_shows(request, copy, of, file, kind, seed):
    folder = request.getfixturevalue(of)
    whole = opened(copy(folder))
    path = copy(folder)
    damage(path.with_name(file), random.Random(seed), kind)
    assert opened(path) in (None, whole)  # the latter: of what nobody reads, the number of changes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(6, 200))
def test_damaged_pages_of_a_database_that_was_left_open(killed, copy, kind, seed):
    path = copy(killed)
    damage(path, random.Random(seed), kind)
    found = opened(path)  # a bit of a text may have changed
    assert found is None or [record.id for record in found[0]] == [*range(1, JOBS + 1)]


def test_the_line_says_what_is_damaged_and_what_to_do(closed, copy):
    path = copy(closed)
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        Store.open(path, DOMAIN)
    where = "something in the 1,048,576 bytes from 0 on is not what it was when it was closed"
    assert str(caught.value) == f"{path}: is damaged: {where}; {REMEDY}"


@pytest.mark.parametrize("text", [b"_migrations", b'("migration_set", "name")'])
def test_a_list_of_tables_that_is_no_text(closed, copy, text):
    path = copy(closed)
    path.write_bytes(path.read_bytes().replace(text, text[:-1] + b"\xf3"))
    with pytest.raises(StoreError, match="is damaged: "):
        Store.open(path, DOMAIN)


def test_a_log_that_is_gone_is_missed(killed, copy):
    path = copy(killed)
    path.with_name("x.db-wal").unlink()
    with pytest.raises(StoreError, match=r"of the [0-9,]+ pages that were committed to x\.db-wal the last"):
        Store.open(path, DOMAIN)


def test_after_a_power_failure_a_shorter_log_is_no_damage(killed, copy):
    """What was not yet flushed to disk is lost then: nothing was answered that depends on it."""
    path = copy(killed)
    path.with_name("x.db.lock").write_text("another boot\n")
    log = path.with_name("x.db-wal")
    log.write_bytes(log.read_bytes()[: -2 * PAGE])
    with closing(Store.open(path, DOMAIN)) as store:
        assert 1 < store.last_sequence() < JOBS


def test_what_another_program_changes_in_order_is_no_damage(closed, copy):
    path = copy(closed)
    with closing(sqlite3.connect(path)) as shell:
        shell.execute("UPDATE jobs SET owner = 'bob' WHERE id = 7")
        shell.commit()
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.job(7).owner == "bob"


def test_damaged_sums_are_no_reason_to_open_a_damaged_database(closed, copy):
    path = copy(closed)
    path.with_name("x.db.sums").write_text("")
    path.write_bytes(path.read_bytes()[: -20 * PAGE] + bytes(20 * PAGE))
    assert opened(path) is None


def test_damage_that_shows_later_is_told_once_and_nothing_is_written_any_more(copy, closed):
    path = copy(closed)
    with closing(Store.open(path, DOMAIN)) as store, closing(store.reader()) as reader:
        told = []
        store.damage.tell = told.append
        with open(path, "r+b") as file:
            file.seek(2 * PAGE)
            file.write(b"\xa5" * (path.stat().st_size - 2 * PAGE))
        for _ in range(2):
            with pytest.raises(StoreError, match="is damaged: database disk image is malformed; restore a backup"):
                reader.jobs(None, None, False, 0, 1000)
        before = path.with_name("x.db-wal").read_bytes()
        with pytest.raises(StoreError) as caught, store.transaction():
            store.set_meta("key", "value")
        assert told == [caught.value]
        assert path.with_name("x.db-wal").read_bytes() == before
    assert not path.with_name("x.db.sums").exists()
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(path, DOMAIN)
