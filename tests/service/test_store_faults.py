"""The store when its process is killed and when the disk is full."""

import random
import signal
import subprocess
import sys
from contextlib import closing, suppress
from itertools import count

import pytest

from cosched.core.job import JobState
from cosched.service.store import JobScript, Store, StoreError
from tests.service.offered_site import Site
from tests.service.store_examples import DOMAIN, SCRIPT, event, job
from tests.small_disk import mounted
from tests.tiers import soaked

# Each transaction adds a job with two events, and changes the job before; its number is told when it has been kept.
WRITER = """
import pathlib, sys
from cosched.core.job import JobState
from tests.service.store_examples import DOMAIN, SCRIPT, Store, event, job
store = Store.open(pathlib.Path(sys.argv[1]), DOMAIN)
while True:
    number = store.next_job_id()
    with store.transaction():
        store.add_job(job(number), SCRIPT)
        if number > 1:
            store.save_jobs([job(number - 1, JobState.COMPLETED)])
        store.add_events([event(2 * number - 1, job=number), event(2 * number, job=number)])
        store.set_meta("number", str(number))
    print(number, flush=True)
"""


def write_and_be_killed(path, transactions):
    """The number of the last transaction that was kept for certain, of at least so many."""
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        told = [next(writer.stdout) for _ in range(transactions)]
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    return int([line for line in told if line.endswith("\n")][-1])


def check_whole(store, last):
    """All transactions up to the last one are there, all of each."""
    assert [record.id for record in store.active_jobs()] == [last]
    finished = store.jobs([JobState.COMPLETED], None, False, 0, -1)
    assert finished == [job(number, JobState.COMPLETED) for number in range(1, last)]
    assert store.script(last) == SCRIPT
    assert not any(store.script(number) for number in range(1, last))  # a script goes with its job's end
    assert store.events(0, [], [], -1) == [event(n, job=(n + 1) // 2) for n in range(1, 2 * last + 1)]
    assert (store.next_job_id(), store.last_sequence()) == (last + 1, 2 * last)


@pytest.mark.parametrize("kills", soaked([4, 40], 1))
def test_what_was_committed_outlives_a_kill(tmp_path, kills):
    choice = random.Random(3)
    path = tmp_path / "x.db"
    for _ in range(kills):
        reported = write_and_be_killed(path, choice.randint(1, 60))
        with closing(Store.open(path, DOMAIN)) as store:
            last = int(store.meta("number"))
            assert last in (reported, reported + 1)
            check_whole(store, last)


# A full disk

KILOBYTES = 800


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own, which is soon full."""
    with mounted(tmp_path / "disk", f"{KILOBYTES}k") as folder:
        yield folder


def fill(folder, room=0):
    """Leave so many bytes of room in the folder; the file that takes the others."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(4096))
        file.truncate(file.tell() - room)
    return filler


def turn(store, number):
    """One transaction, with a script that cannot be compressed."""
    with store.transaction():
        store.add_job(job(number), JobScript(random.Random(number).randbytes(5000), (), "/", {}))
        store.add_events([event(number, job=number)])


def write_on(store):
    for number in count(1):
        turn(store, number)


def turns_until_full(store):
    """How many turns there was room for."""
    with pytest.raises(StoreError, match=r"/x\.db: database or disk is full$") as caught:
        write_on(store)
    assert caught.value.full
    return store.last_sequence()


def check_full(store, kept):
    """The turns that were kept are there, whole, and the next one can be tried, in vain."""
    for _ in range(3):
        with pytest.raises(StoreError) as caught:
            turn(store, kept + 1)
        assert caught.value.full
        assert [record.id for record in store.active_jobs()] == [*range(1, kept + 1)]
        assert (store.script(kept + 1), store.last_sequence()) == (None, kept)


def test_a_disk_that_fills_and_is_freed(small_disk):
    with closing(Store.open(small_disk / "x.db", DOMAIN)) as store:
        filler = fill(small_disk, room=200_000)
        kept = turns_until_full(store)
        assert kept > 1
        check_full(store, kept)
        filler.unlink()
        turn(store, kept + 1)
    with closing(Store.open(small_disk / "x.db", DOMAIN)) as store:
        assert [record.id for record in store.active_jobs()] == [*range(1, kept + 2)]


def test_a_log_that_fills_the_disk_makes_room(small_disk):
    with closing(Store.open(small_disk / "x.db", DOMAIN)) as store:
        with store.transaction():
            store.set_meta("number", "0")  # the database has the room for this already
        for number in range(1, 1000):
            with suppress(StoreError), store.transaction():
                store.set_meta("number", str(number))
                continue
            with store.transaction():
                store.set_meta("number", str(number))
        assert (small_disk / "x.db-wal").stat().st_size < KILOBYTES * 1024 < 1000 * 4096
    with closing(Store.open(small_disk / "x.db", DOMAIN)) as store:
        assert store.meta("number") == "999"


def test_a_domain_does_not_stall_if_only_its_log_fills_the_disk(small_disk):
    with closing(Store.open(small_disk / "x.db", DOMAIN)) as store:
        site = Site(store)
        site.submit(1)
        written = 0
        while written < 2 * KILOBYTES * 1024:
            before = store._log.path.stat().st_size
            site.offer(1)
            site.offered.withdrawn("1")
            assert site.domain.turns.problem == ""
            written += max(0, store._log.path.stat().st_size - before)


def test_a_service_that_dies_of_a_full_disk(small_disk):
    with closing(Store.open(small_disk / "x.db", DOMAIN)):
        filler = fill(small_disk, room=200_000)
    writer = subprocess.run([sys.executable, "-c", WRITER, small_disk / "x.db"], capture_output=True, text=True)
    assert "StoreError" in writer.stderr
    filler.unlink()
    with closing(Store.open(small_disk / "x.db", DOMAIN)) as store:
        check_whole(store, int(writer.stdout.split()[-1]))


def test_a_database_that_may_not_grow(tmp_path):
    with closing(Store.open(tmp_path / "x.db", DOMAIN)) as store:
        store._connection.execute("PRAGMA max_page_count = 100")
        kept = turns_until_full(store)
        assert kept > 5
        check_full(store, kept)
        store._connection.execute("PRAGMA max_page_count = 1000")
        turn(store, kept + 1)


def test_a_new_database_on_a_disk_with_little_room(small_disk):
    path = small_disk / "x.db"
    for room in count(0, 4096):
        fill(small_disk, room)
        check_made_whole_or_not_at_all(path)
        if path.exists():
            break
        for left in small_disk.iterdir():
            left.unlink()
    (small_disk / "filler").unlink()
    with closing(Store.open(path, DOMAIN)) as store:
        turn(store, 1)


def check_made_whole_or_not_at_all(path):
    try:
        Store.open(path, DOMAIN).close()
    except StoreError:
        check_refused(path)
        assert not path.exists()


def test_an_old_database_on_a_full_disk(small_disk):
    path = small_disk / "x.db"
    with closing(Store.open(path, DOMAIN)) as store:
        turn(store, 1)
    filler = fill(small_disk)
    check_refused(path)
    filler.unlink()
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.last_sequence() == 1


def check_refused(path):
    with pytest.raises(StoreError, match="database or disk is full") as caught:
        Store.open(path, DOMAIN)
    assert caught.value.full
