"""Databases that the store refuses, each in one line, and leaves as they were."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from cosched.service.store import Store, StoreError
from cosched.service.store.errors import REMEDY
from cosched.service.store.opening import LOG_ROOM
from tests.service.store_examples import DOMAIN, add, event, execute, job, make


@pytest.fixture
def refused(path):
    """Open the database at `path`, of which nothing may change; the reason why it is refused."""

    def refused(domain=DOMAIN, path=path):
        before = contents(path)
        with pytest.raises(StoreError) as caught:
            Store.open(path, domain)
        assert contents(path) == before
        assert str(caught.value) == f"{path}: {caught.value.reason}"
        assert "\n" not in str(caught.value)
        assert not caught.value.full
        return caught.value.reason

    return refused


def contents(path):
    """The files of the database; the lock, and SQLite's shared memory, are not of it."""
    files = (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal"))
    return [file.read_bytes() if file.is_file() else None for file in files]


LEFT_OPEN = """
import os, pathlib, signal, sys
from tests.service.store_examples import DOMAIN, Store
store = Store.open(pathlib.Path(sys.argv[1]), DOMAIN)
with store.transaction():
    store.set_meta("left", "open")
os.kill(os.getpid(), signal.SIGKILL)
"""


def leave_open(path):
    """A service uses the database and is killed."""
    killed = subprocess.run([sys.executable, "-c", LEFT_OPEN, path], check=False)
    assert killed.returncode == -signal.SIGKILL


def damage(path):
    """Write nonsense over the second half of the database, which has jobs, scripts and events only."""
    half = path.stat().st_size // 2
    with open(path, "r+b") as file:
        file.seek(half)
        file.write(b"\xa5" * half)


def test_the_files_are_for_the_service_alone(path):
    mask = os.umask(0)
    try:
        with closing(Store.open(path, DOMAIN)) as store:
            add(store, [job(1)])
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(mask)
    assert modes == dict.fromkeys(["intrepid.db", "intrepid.db-wal", "intrepid.db-shm", "intrepid.db.lock"], 0o600)


def test_closing_leaves_one_file_with_its_lock_and_its_sums(path):
    with closing(Store.open(path, DOMAIN)) as store:
        store.close()  # twice does no harm
    assert sorted(os.listdir(path.parent)) == ["intrepid.db", "intrepid.db.lock", "intrepid.db.sums"]


def test_a_service_does_not_import_what_it_has_no_use_for(tmp_path):
    (tmp_path / "pandas.py").write_text("raise SystemExit('pandas was imported')")
    code = "import cosched.service.service, sys; assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True)


def test_a_creation_that_was_cut_short_is_begun_anew(path):
    leave_open(path)
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).rename(path.with_name(path.name + ".new" + ending))
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.meta("left") is None
    assert sorted(os.listdir(path.parent)) == ["intrepid.db", "intrepid.db.lock", "intrepid.db.sums"]


def test_a_database_that_a_killed_service_left(path):
    leave_open(path)
    assert path.with_name("intrepid.db-wal").stat().st_size > 0
    with closing(Store.open(path, DOMAIN)) as store:
        assert store.meta("left") == "open"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty, and not a database"),
        (b"SQLite", "is not a database"),
        (b"[domain]\nname = 'intrepid'\n" * 1000, "is not a database"),
        (b"SQLite format 3\0" + bytes(4080), f"is damaged: file is not a database; {REMEDY}"),
    ],
)
def test_a_file_that_is_no_database(path, refused, content, said):
    path.write_bytes(content)
    assert refused() == said


def test_a_database_of_another_program(path, refused):
    execute(path, "CREATE TABLE meta (key, value)")
    assert refused() == "is a database of another program"


def test_a_database_of_another_domain_also_one_that_was_left_open(path, refused):
    make(path)
    assert refused("eureka") == "is the database of the domain intrepid, not of eureka"
    assert sorted(os.listdir(path.parent)) == ["intrepid.db", "intrepid.db.lock", "intrepid.db.sums"]
    leave_open(path)
    assert refused("eureka") == "is the database of the domain intrepid, not of eureka"


def test_a_newer_database(path, refused):
    make(path)
    values = "(migration_set, name, applied_at) VALUES ('cosched', '9999_more', '2100')"
    execute(path, f"INSERT INTO _sqlite_migrations {values}", "UPDATE meta SET key = 'new.' || key")
    assert refused() == "was made by a newer version of cosched"


def test_a_database_in_use(path, refused):
    with closing(Store.open(path, DOMAIN)) as store:
        assert refused() == "is in use by another service"
        add(store, [job(1)], [event(1)])
    Store.open(path, DOMAIN).close()


def test_a_database_in_use_by_another_name(path, tmp_path):
    with closing(Store.open(path, DOMAIN)):
        link = tmp_path / "link.db"
        link.symlink_to(path)
        with pytest.raises(StoreError, match=r"intrepid\.db: is in use by another service"):
            Store.open(link, DOMAIN)


def test_a_lock_does_not_pass_to_child_processes(path):
    store = Store.open(path, DOMAIN)
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        store.close()
        Store.open(path, DOMAIN).close()
        child.kill()


def test_a_missing_folder_is_not_made(tmp_path, refused):
    assert refused(path=tmp_path / "state" / "x.db") == "its folder does not exist"
    assert os.listdir(tmp_path) == []


def test_what_the_log_took_while_somebody_read_is_given_back(path):
    def write(times):
        for number in range(times):
            with store.transaction():
                store.set_meta("filling", str(number % 10) * (1 << 20))

    log = path.with_name(f"{path.name}-wal")
    with closing(Store.open(path, DOMAIN)) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM jobs").fetchone()
            write(30)
            assert log.stat().st_size > 3 * LOG_ROOM, "it cannot start over meanwhile"
        write(3)
        assert log.stat().st_size <= LOG_ROOM
        assert store.meta("filling") == "2" * (1 << 20)


def test_our_own_readers_keep_no_transaction_open(path):
    with closing(Store.open(path, DOMAIN)) as store, closing(store.reader()) as reader:
        assert reader.events(0, [], [], 10) == reader.jobs(None, None, False, 0, 10) == ([], None)
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0), "nobody is in its way"


def test_a_folder_in_the_place_of_the_file(path, refused):
    path.mkdir()
    assert refused() == "Is a directory"


def test_a_folder_that_cannot_be_written(refused, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # the tests may run as root, whom no folder refuses
    assert refused().startswith("its folder cannot be written: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_cannot_be_written(path, refused):
    make(path)
    path.chmod(0o400)
    assert refused().startswith("Permission denied: ")


def test_a_database_that_was_cut_off(path, refused):
    make(path, jobs=200)
    os.truncate(path, path.stat().st_size // 2)
    assert refused() == f"is damaged: database disk image is malformed; {REMEDY}"


def test_damage_is_looked_for_after_a_service_was_killed(path, refused):
    make(path, jobs=1000)
    leave_open(path)
    damage(path)
    assert refused().startswith("is damaged: *** in database main *** ")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE jobs SET state = 99",
        "UPDATE jobs SET memory = '{'",
        "UPDATE jobs SET name = CAST(x'FF' AS TEXT)",
        "UPDATE scripts SET script = x'00'",
        "UPDATE scripts SET context = script",
        "UPDATE events SET detail = ''",
        "UPDATE meta SET value = CAST(x'FF' AS TEXT) WHERE key <> 'store.domain'",
    ],
)
def test_a_damaged_record(path, change):
    make(path)
    execute(path, "INSERT INTO meta VALUES ('shift', '0')", change)
    with closing(Store.open(path, DOMAIN)) as store:
        with pytest.raises(StoreError) as caught:
            _ = (store.job(1), store.script(1), store.events(0, [], [], 1), store.meta("shift"))
        assert "\n" not in str(caught.value)
