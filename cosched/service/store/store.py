"""The store: everything that the service must know after a restart."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cosched.core.job import JobState
from cosched.service.store import statements
from cosched.service.store.errors import StoreError
from cosched.service.store.log import Log
from cosched.service.store.opening import lock_database, open_database
from cosched.service.store.reading import Reader, Reading, Values
from cosched.service.store.records import (
    AuditRecord,
    EventRecord,
    JobRecord,
    JobScript,
    audit_row,
    event_of,
    event_row,
    job_of,
    job_row,
    script_of,
    script_row,
)
from cosched.service.store.schema import RETIRED

_ACTIVE = tuple(state for state in JobState if not state.final)


class Store(Reading):
    """The database of one policy domain, to be used from one thread.

    What writes is called inside `with store.transaction():`, what reads at any time. Whatever goes wrong in the
    database is a StoreError; after one the store can be used as before.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, log: Log, lock: BinaryIO) -> None:
        super().__init__(path, connection)
        self._log = log
        self._lock = lock
        self._files = self._identities()
        self.commits = 0  # transactions that have ended since it was opened

    @classmethod
    def open(cls, path: Path, domain: str) -> Store:
        """The store of `domain` at `path`, made if there is no such file; its folder must exist.

        StoreError, and the file is left as it is, if it is no database of this domain or a damaged one, was made by a
        newer version, is in use by another service, or cannot be read and written.
        """
        path = Path(os.path.realpath(path))  # a lock beside a symbolic link would not be seen by users of the file
        try:
            lock = lock_database(path)
            try:
                database, log = open_database(path, domain)
                return cls(path, database.conn, log, lock)
            except BaseException:
                lock.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise StoreError.of(path, error) from None

    def close(self) -> None:
        """Close the database and let other services have it."""
        self._connection.close()
        self._log.close()
        self._lock.close()

    def reader(self) -> Reader:
        """Another connection, which only reads; StoreError. To be closed before this one."""
        return Reader.open(self._path)

    def sync(self) -> None:
        """Bring all transactions that have ended to disk; in any thread. StoreError: never to be tried again.

        See `log`: then the process is to end, and the database to be opened again.
        """
        try:
            self._log.sync()
        except OSError as error:
            raise StoreError.of(self._log.path, error) from None

    # Transactions

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, from the end of the block on, or none of it if the block raises.

        The end of the process cannot undo it; a power failure can, until the next `sync`.
        """
        self._check_files()
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
            self.commits += 1
        except BaseException:
            if self._connection.in_transaction:  # some errors end it by themselves
                self._execute("ROLLBACK")
            raise

    def _check_files(self) -> None:
        """StoreError if what is written now would be found by nobody."""
        try:
            same = self._identities() == self._files
        except FileNotFoundError:
            same = False
        except OSError as error:
            raise StoreError.of(self._path, error) from None
        if not same:
            raise StoreError(self._path, "was moved, removed or replaced: put it back, or stop the service")

    def _identities(self) -> list[tuple[int, int]]:
        """What the names of its files stand for now."""
        abouts = (os.stat(path) for path in (self._path, self._log.path))
        return [(about.st_dev, about.st_ino) for about in abouts]

    # Writing, inside a transaction

    def add_job(self, job: JobRecord, script: JobScript) -> int:
        """Keep a new job, with what it runs; its id must be new. How many bytes its script takes here."""
        id, packed, context = script_row(job.id, script)
        self._write(statements.ADD_JOB, [job_row(job)])
        self._write(statements.ADD_SCRIPT, [(id, packed, context)])
        return len(packed) + len(context)

    def put_jobs(self, jobs: Iterable[JobRecord]) -> None:
        """Keep new jobs whose ids a resource manager has given; an older one that had the same id is gone then."""
        self._write(statements.PUT_JOB, map(job_row, jobs))

    def save_jobs(self, jobs: Iterable[JobRecord]) -> None:
        """Keep jobs as they are now, without the scripts of those that have ended.

        All of them have been added; LookupError if one has not.
        """
        saved = list(jobs)
        if self._write(statements.SAVE_JOB, map(job_row, saved)) != len(saved):
            raise LookupError("a job to be saved has not been added")
        self._write(statements.DROP_SCRIPT, [(job.id,) for job in saved if job.state.final])

    def add_events(self, events: Iterable[EventRecord]) -> None:
        """Keep new events; their jobs must be there at the end of the transaction."""
        self._write(statements.ADD_EVENT, map(event_row, events))

    def add_audit(self, record: AuditRecord) -> None:
        """Keep a new record of the audit."""
        self._write(statements.ADD_AUDIT, [audit_row(record)])

    def count_audit(self, record: AuditRecord) -> None:
        """Keep how many `times` it was, of a record that has been added."""
        named = record.at, record.who, record.via, record.method, record.outcome, record.detail
        self._write(statements.COUNT_AUDIT, [(record.times, *named)])

    def save_answer(
        self, peer: str, caller: str, request_id: str, kind: str, started: bool, start_at: float | None = None
    ) -> None:
        """Keep the answer to a mutating call of a peer's job, instead of the one to its call before."""
        self._write(statements.SAVE_ANSWER, [(peer, caller, request_id, kind, started, start_at)])

    def save_reply(self, who: str, request_id: str, method: str, job: int | None, error: str) -> None:
        """Keep what a user's call was answered, unless there is an answer to that request id."""
        self._write(statements.SAVE_REPLY, [(who, request_id, method, job, error)])

    def set_meta(self, key: str, value: str) -> None:
        """Keep a single value; keys that begin with "store." are the store's own."""
        self._write(statements.SET_META, [(key, value)])

    def portion(self, before: int, most: int) -> int:
        """An instant up to `before`: `retire` deletes about so many jobs with it, or the last of those to go."""
        last = self._value(statements.NEXT_TO_RETIRE, (before, most))
        return before if last is None else int(last) + 1

    def retire(self, before: int) -> int:
        """Delete the jobs that ended before that instant, with everything of theirs; how many they were.

        Records of the audit and events without a job go with them if they are as old; so do answers to calls about
        jobs that are not here, as soon as all events before them have gone.
        """
        self._retire_events(before)
        retired = self._read(tuple, statements.RETIRE_JOBS, (before,))
        self._write(statements.RETIRE_REPLIES, ((job,) for job, _, _ in retired))
        self._write(statements.RETIRE_ANSWERS, [(peer, mate) for _, peer, mate in retired if mate is not None])
        first = self.first_sequence()
        self._write(statements.RETIRE_OLD_REPLIES, [(first,)])
        self._write(statements.RETIRE_OLD_ANSWERS, [(first,)])
        self._write(statements.RETIRE_AUDIT, [(before,)])
        return len(retired)

    def _retire_events(self, before: int) -> None:
        """Delete events without a job, and note the last of all that go; those of a job go with it."""
        last = self._value(statements.LAST_TO_RETIRE, (before,))
        if last is not None:
            self.set_meta(RETIRED, str(max(last, self.first_sequence() - 1)))
        self._write(statements.RETIRE_EVENTS, [(before,)])

    # Reading

    def next_job_id(self) -> int:
        """One more than the highest id of any job ever added."""
        return int(self._value(statements.LAST_NUMBER, ("jobs",)) or 0) + 1

    def active_jobs(self) -> list[JobRecord]:
        """The jobs that have not ended, by id."""
        return self.jobs(_ACTIVE, None, paired_only=False, after_id=0, limit=-1)

    def script(self, id: int) -> JobScript | None:
        """What the job of that id runs."""
        return self._one(script_of, statements.SCRIPT, (id,))

    def script_bytes(self) -> dict[int, int]:
        """The bytes that the scripts of jobs take here, by the jobs' ids."""
        return dict(self._execute(statements.SCRIPT_BYTES))

    def ended_mate(self, peer: str, owner: str, pair: str | None, mate: str | None) -> JobRecord | None:
        """The last to end of the owner's jobs that name `peer` and that pair or, if no pair is given, that mate."""
        if pair is not None:
            return self._one(job_of, statements.ENDED_OF_PAIR, (peer, owner, pair))
        return self._one(job_of, statements.ENDED_WITH_MATE, (peer, owner, mate))

    def jobs(
        self, states: Sequence[JobState] | None, owner: str | None, paired_only: bool, after_id: int, limit: int
    ) -> list[JobRecord]:
        """The first `limit` jobs with ids above `after_id` that meet all conditions, by id; None: any, -1: all."""
        sql, values = statements.jobs(states, owner, paired_only, after_id, limit)
        return self._read(job_of, sql, values)

    def events(self, after: int, jobs: Sequence[int], kinds: Sequence[int], limit: int) -> list[EventRecord]:
        """The first `limit` events after that number, of these jobs (none given: of any or none) and kinds (any)."""
        sql, values = statements.events(after, jobs, kinds, limit)
        return self._read(event_of, sql, values)

    def answers(self) -> list[tuple[str, str, str, str, bool]]:
        """Peer, its job, the request id of that job's last mutating call, the call's kind, whether it was a yes."""
        return self._read(lambda row: (*row[:4], bool(row[4])), statements.ANSWERS)

    def answer(self, peer: str, caller: str) -> tuple[str, str, bool, float | None] | None:
        """Request id and kind of the last mutating call of that job of the peer, and what it was answered.

        That is whether it was a yes, and the instant that was agreed on, in seconds since 1970.
        """
        return self._one(lambda row: (row[0], row[1], bool(row[2]), row[3]), statements.ANSWER, (peer, caller))

    def reply(self, who: str, request_id: str) -> tuple[str, int | None, str] | None:
        """Method, job and error of the call that this user made with that request id."""
        return self._one(lambda row: (row[0], row[1], row[2]), statements.REPLY, (who, request_id))

    def audit(self, limit: int) -> list[AuditRecord]:
        """The last `limit` records of the audit, the oldest of them first."""
        return self._read(lambda row: AuditRecord(*row), statements.AUDIT, (limit,))[::-1]

    # SQL

    def _write(self, sql: str, rows: Iterable[Values]) -> int:
        """Execute the statement for each row of values; how many rows it changed."""
        self._check_transaction()
        try:
            return self._connection.executemany(sql, rows).rowcount
        except sqlite3.Error as error:
            raise StoreError.of(self._path, error) from None

    def _check_transaction(self) -> None:
        # A full disk may end the transaction; what followed would then be kept at once, without what went before.
        if not self._connection.in_transaction:
            raise RuntimeError("the store is written in transactions only")
