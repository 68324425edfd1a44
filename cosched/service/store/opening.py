"""Opens the database. A database that cannot be used is refused before anything in it changes."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from cosched.host.file_locks import lock
from cosched.service.store import damage
from cosched.service.store.earlier import is_too_old, take_up
from cosched.service.store.errors import StoreError
from cosched.service.store.log import Log
from cosched.service.store.schema import APPLICATION_ID, DOMAIN, MIGRATIONS, is_newer
from cosched.service.store.sqlite import Database
from cosched.words.file_errors import closed

_MAGIC = b"SQLite format 3\0"
_BUSY_TIMEOUT = 1.0  # seconds: a backup, or an operator's shell, may have the database for a moment
# What the log keeps of its room on disk when it starts over: twice what it usually takes. It grows as long as some
# program, such as an operator's shell, has a transaction open that reads. Our own readers have none between statements.
LOG_ROOM = 8 << 20  # bytes
# NORMAL: SQLite does not flush the log after each transaction, since `log.Log` does that for many at once.
_SETTINGS = (
    "journal_mode = WAL",
    f"journal_size_limit = {LOG_ROOM}",
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "cache_size = -16384",  # 16 MiB
)


def lock_database(path: Path) -> BinaryIO:
    """Lock the database against other services until the returned file is closed, or this process ends."""
    if not path.parent.is_dir():
        raise StoreError(path, "its folder does not exist")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise StoreError(path, f"its folder cannot be written: {closed(path)}")
    descriptor = os.open(damage.beside(path, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not lock(descriptor):
        os.close(descriptor)
        raise StoreError(path, "is in use by another service", in_use=True)
    return os.fdopen(descriptor, "r+b", buffering=0)


def open_database(path: Path, domain: str, lock: BinaryIO) -> tuple[Database, Log]:
    """Return the locked database of `domain`, made if there is none, with the newest schema; and its log; on disk."""
    if not path.exists():
        _create(path, domain)
    _check_header(path)
    committed = damage.committed_frames(path) if damage.same_boot(lock) else 0
    # It changes nothing by reading and closing; without a log, it does not even make a file.
    with closing(_connect(path, "mode=ro" if _was_left_open(path) else "immutable=1")) as database:
        try:
            _check_contents(database, path, domain)
        except ValueError as error:
            raise StoreError(path, f"its list of tables: {error}", damaged=True) from None
        damage.check_log(path, committed)
        if _was_left_open(path) or not damage.matches_sums(path):
            (problem,) = database.execute("PRAGMA integrity_check(1)").fetchone()
            if problem != "ok":
                raise StoreError(path, " ".join(problem.split()), damaged=True)
    damage.drop_sums(path)
    database = _upgraded(path)
    try:
        log = _opened_log(database, path)
        damage.note_boot(lock)
        return database, log
    except BaseException:
        database.close()
        raise


def _opened_log(database: Database, path: Path) -> Log:
    log = Log(damage.beside(path, "-wal"))
    try:
        database.execute("BEGIN IMMEDIATE")  # keeps others from writing
        log.rewrite()
        database.execute("ROLLBACK")
        _sync_folder(path.parent)
    except BaseException:
        log.close()
        raise
    return log


def _create(path: Path, domain: str) -> None:
    """Make an empty database; it gets its name when it is complete."""
    made = damage.beside(path, ".new")
    made.unlink(missing_ok=True)
    os.close(os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(_upgraded(made)) as database:
        database.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (DOMAIN, domain))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # closing would do it too, but not report a failure
    made.rename(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_header(path: Path) -> None:
    with open(path, "r+b") as file:
        header = file.read(len(_MAGIC))
    if header != _MAGIC:
        raise StoreError(path, "is not a database" if header else "is empty, and not a database")


def _check_contents(database: Database, path: Path, domain: str) -> None:
    if database.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise StoreError(path, "is a database of another program")
    if is_newer(database):
        raise StoreError(path, "was made by a newer version of cosched")
    if is_too_old(database):
        raise StoreError(path, "was made by a version of cosched that is too old to be taken up")
    (owner,) = database.execute("SELECT value FROM meta WHERE key = ?", (DOMAIN,)).fetchone() or (None,)
    if owner != domain:
        raise StoreError(path, f"is the database of the domain {owner}, not of {domain}")


def _was_left_open(path: Path) -> bool:
    """Return whether the last service did not close the database, because it was killed or the machine stopped."""
    log = damage.beside(path, "-wal")
    return log.exists() and log.stat().st_size > 0


def _upgraded(path: Path) -> Database:
    database = _connect(path, "mode=rw")
    try:
        for setting in _SETTINGS:
            database.execute(f"PRAGMA {setting}")
        take_up(database)
        MIGRATIONS.apply(database)
    except BaseException as error:
        database.close()
        if isinstance(error, ValueError):
            raise StoreError(path, f"what is kept of its jobs: {error}", damaged=True) from None
        raise
    return database


def open_beside(path: Path) -> Database:
    """Return a second connection to a database that this process has open, to read from one thread at a time."""
    database = _connect(path, "mode=ro", one_thread=False)
    database.execute("PRAGMA query_only = ON")
    return database


def _connect(path: Path, how: str, *, one_thread: bool = True) -> Database:
    # Without an isolation level the sqlite3 module begins no transactions of its own.
    connection = sqlite3.connect(
        f"{path.as_uri()}?{how}", uri=True, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=one_thread
    )
    return Database(connection, recursive_triggers=False, execute_plugins=False)
