"""The store keeps everything that the service must know after a restart."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from cosched.core.job import JobState
from cosched.core.scheduling.run_times import Changed, Origin, Pair, Runs
from cosched.core.scheduling.site_tables import SiteTables
from cosched.core.scheduling.starts import WEEK, Starts
from cosched.service.store import records, statements
from cosched.service.store.damage import note_sums
from cosched.service.store.errors import StoreError
from cosched.service.store.log import Log
from cosched.service.store.opening import lock_database, open_database
from cosched.service.store.reading import Damage, Reader, Reading, Values
from cosched.service.store.records import AuditRecord, EstimateRecord, EventRecord, JobRecord, JobScript, Sample
from cosched.service.store.schema import RETIRED
from cosched.service.store.site_schema import LEARNED_TABLES, SITE_TABLES

YEAR = 366 * 24  # hours
_ACTIVE = tuple(state for state in JobState if not state.final)


class Store(Reading):
    """The database of one policy domain, for use from one thread.

    Call writing methods inside `with store.transaction():`, and reading ones at any time. All errors of the database
    are StoreError. After one the store can be used as before, but if it was of damage, nothing is written any more.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, log: Log, lock: BinaryIO) -> None:
        super().__init__(path, connection, Damage())
        self._log = log
        self._lock = lock
        self._files = self._identities()
        self.commits = 0  # transactions that have ended since the store was opened

    @classmethod
    def open(cls, path: Path, domain: str) -> Store:
        """Open the store of `domain` at `path`. Make it if there is no such file; the folder must exist.

        StoreError if the file is not a database of this domain, is damaged, was made by a newer version, is in use by
        another service, or cannot be read and written. The file is then left as it is.
        """
        path = Path(os.path.realpath(path))  # a lock beside a symbolic link would not protect the file
        try:
            lock = lock_database(path)
            try:
                database, log = open_database(path, domain, lock)
                return cls(path, database.conn, log, lock)
            except BaseException:
                lock.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise StoreError.of(path, error) from None

    def close(self) -> None:
        """Close the database, note what it is then, and release its lock."""
        if not self._lock.closed and self.damage.found is None and self._closes_in_order():
            note_sums(self._path)
        self._connection.close()
        self._log.close()
        self._lock.close()

    def _closes_in_order(self) -> bool:
        """Bring all into the one file, in the mode that counts its changes; whether nobody else has it open."""
        try:
            [(mode,)] = self._connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error:
            return False
        self._connection.close()
        return bool(mode == "delete")

    def reader(self) -> Reader:
        """Return another connection, which only reads; StoreError. Close it before this one."""
        return Reader.open(self._path, self.damage)

    def sync(self) -> None:
        """Flush all ended transactions to disk, in any thread. StoreError: never try it again.

        After an error the process must end, and the next one opens the database again (see `log`).
        """
        try:
            self._log.sync()
        except OSError as error:
            raise StoreError.of(self._log.path, error) from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is written inside at the end of the block, or nothing if the block raises.

        A commit survives the end of the process, but a power failure can undo it until the next `sync`. If there was no
        room, the log is emptied, which may make some: try once more.
        """
        if self.damage.found is not None:
            raise self.damage.found
        try:
            moved = self._identities() != self._files
        except FileNotFoundError:
            moved = True
        except OSError as error:
            raise StoreError.of(self._path, error) from None
        if moved:  # nobody would find what is written now
            raise StoreError(self._path, "was moved, removed or replaced: put it back, or stop the service")
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
            self.commits += 1
        except BaseException as error:
            if self._connection.in_transaction:  # some errors end the transaction by themselves
                self._execute("ROLLBACK")
            if isinstance(error, StoreError) and error.full:
                with suppress(StoreError):  # in the database, most of the log takes the place of what was there
                    self._execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raise

    def _identities(self) -> tuple[int, ...]:
        """Return device and inode of the files that have the database's names now."""
        base, log = os.stat(self._path), os.stat(self._log.path)
        return base.st_dev, base.st_ino, log.st_dev, log.st_ino

    # Writing, inside a transaction

    def add_job(self, job: JobRecord, script: JobScript) -> int:
        """Store a new job, with a new id, and its script; return how many bytes the script takes here."""
        id, packed, context = records.script_row(job.id, script)
        self._write(statements.ADD_JOB, [records.job_row(job)])
        self._write(statements.ADD_SCRIPT, [(id, packed, context)])
        return len(packed) + len(context)

    def put_jobs(self, jobs: Iterable[JobRecord]) -> None:
        """Store new jobs with the resource manager's ids; they replace older jobs with the same ids.

        One that was there before it was lost, by its owner, its name and its submission, comes back to its story.
        """
        found = list(jobs)
        self._write(statements.DROP_OTHER_JOB, [(job.id, job.owner, job.name, job.submitted_at) for job in found])
        self._write(statements.PUT_JOB, map(records.job_row, found))

    def save_jobs(self, jobs: Iterable[JobRecord]) -> None:
        """Store jobs as they are, and delete the scripts of those that have ended; LookupError: one was not added."""
        rows, ended = [], []
        for job in jobs:
            rows.append(records.job_row(job))
            if job.job.state.final:
                ended.append((job.id,))
        if self._write(statements.SAVE_JOB, rows) != len(rows):
            raise LookupError("a job to be saved has not been added")
        if ended:
            self._write(statements.DROP_SCRIPT, ended)

    def drop_jobs(self, jobs: Iterable[int]) -> None:
        """Delete these jobs with their events; their ids are not given again."""
        self._write(statements.DROP_JOB, ((job,) for job in jobs))

    def add_events(self, events: Iterable[EventRecord]) -> None:
        """Store new events; their jobs must exist at the end of the transaction."""
        self._write(statements.ADD_EVENT, map(records.event_row, events))

    def add_audit(self, record: AuditRecord) -> None:
        """Store a new record of the audit."""
        self._write(statements.ADD_AUDIT, [records.audit_row(record)])

    def count_audit(self, record: AuditRecord) -> None:
        """Store the present `times` of a record that has been added."""
        named = record.at, record.who, record.via, record.method, record.outcome, record.detail
        self._write(statements.COUNT_AUDIT, [(record.times, *named)])

    def save_answer(self, peer: str, caller: str, request_id: str, kind: str, reply: Sequence[Any]) -> None:
        """Store type and fields of the answer to a mutating call of a peer's job, instead of that to its last call."""
        self._write(statements.SAVE_ANSWER, [(peer, caller, request_id, kind, json.dumps([*reply]))])

    def save_reply(self, who: str, request_id: str, method: str, job: int | None, error: str) -> None:
        """Store the answer to a user's call; if this request id has an answer, only the error."""
        self._write(statements.SAVE_REPLY, [(who, request_id, method, job, error)])

    def save_starts(self, starts: Mapping[tuple[str, int], Starts]) -> None:
        """Store what was started by owner and hour, as it is now; forget what was before the last week."""
        self._write(statements.SAVE_STARTS, ((*key, *sums) for key, sums in starts.items()))
        self._write(statements.RETIRE_STARTS, {(hour - WEEK,) for _, hour in starts})

    def save_run_times(self, changed: Changed) -> None:
        """Store what was learned of run times, and stated; what is gone is deleted."""
        runs, stated = changed
        self._write(statements.SAVE_RUNS, (records.runs_row(origin, known) for origin, known in runs.items() if known))
        self._write(statements.DROP_RUNS, [origin for origin, known in runs.items() if known is None])
        self._write(statements.SAVE_STATED_TIME, [(*pair, known) for pair, known in stated.items() if known])
        self._write(statements.DROP_STATED_TIME, [pair for pair, known in stated.items() if known is None])

    def save_site(self, tables: SiteTables) -> None:
        """Store what is in the domain's site now, instead of what was."""
        for table in SITE_TABLES:
            self._write(f"DELETE FROM {table}", [()])
            rows = tables.get(table, ())
            if rows:
                self._write(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def save_estimates(self, estimates: Iterable[EstimateRecord]) -> None:
        """Store expected starts, and what has become of them; each replaces an earlier one."""
        self._write(statements.SAVE_ESTIMATE, map(records.estimate_row, estimates))

    def drop_estimates(self, jobs: Iterable[int], before: int) -> None:
        """Delete the expected starts of these jobs that have not come, and all that were made before that instant."""
        self._write(statements.DROP_ESTIMATES, ((job,) for job in jobs))
        self._write(statements.RETIRE_ESTIMATES, [(before,)])

    def add_sample(self, sample: Sample, oldest: int) -> None:
        """Store a sample, and forget those from before the instant `oldest`."""
        self._write(statements.ADD_SAMPLE, [sample])
        self._write(statements.RETIRE_SAMPLES, [(oldest,)])

    def add_charges(self, charges: Sequence[Values]) -> None:
        """Add what jobs have cost: rows of the table charges, by time; forget what is older than a year."""
        self._write(statements.ADD_CHARGE, charges)
        self._write(statements.RETIRE_CHARGES, [(charges[-1][1] - YEAR,)])

    def set_meta(self, key: str, value: str) -> None:
        """Store a single value; keys that begin with "store." are the store's own."""
        self._write(statements.SET_META, [(key, value)])

    def portion(self, before: int, most: int) -> int:
        """Return an instant up to `before` for which `retire` deletes about `most` jobs, or all that are left."""
        last = self._value(statements.NEXT_TO_RETIRE, (before, most))
        return before if last is None else int(last) + 1

    def retire(self, before: int) -> int:
        """Delete the jobs that ended before that instant, with all their records; return their number.

        This also deletes records of the audit and events without a job that are as old, and answers to calls about jobs
        that are not here, once all events before them have been deleted.
        """
        if (last := self._value(statements.LAST_TO_RETIRE, (before,))) is not None:
            self.set_meta(RETIRED, str(max(last, self.first_sequence() - 1)))
        self._write(statements.RETIRE_EVENTS, [(before,)])  # those of a job go with the job
        retired = self._read(tuple, statements.RETIRE_JOBS, (before,))
        self._write(statements.RETIRE_REPLIES, ((job,) for job, _ in retired))
        mates_of = (json.loads(mates or "{}") for _, mates in retired)
        self._write(statements.RETIRE_ANSWERS, (mate for mates in mates_of for mate in mates.items()))
        first = self.first_sequence()
        self._write(statements.RETIRE_OLD_REPLIES, [(first,)])
        self._write(statements.RETIRE_OLD_ANSWERS, [(first,)])
        self._write(statements.RETIRE_AUDIT, [(before,)])
        return len(retired)

    # Reading

    def next_job_id(self) -> int:
        """Return one more than the highest id of any job ever added."""
        return int(self._value(statements.LAST_NUMBER, ("jobs",)) or 0) + 1

    def active_jobs(self) -> list[JobRecord]:
        """Return the jobs that have not ended, by id."""
        return self.jobs(_ACTIVE, None, paired_only=False, after_id=-1, limit=-1)

    def telling_jobs(self) -> list[JobRecord]:
        """Return the jobs that have ended, and still have something to tell others, by id."""
        return self._read(self._job_of, statements.TELLING_JOBS)

    def script(self, id: int) -> JobScript | None:
        """Return the script of the job with this id."""
        return self._one(records.script_of, statements.SCRIPT, (id,))

    def script_bytes(self) -> dict[int, int]:
        """Return how many bytes the scripts of jobs take here, by job id."""
        return dict(self._execute(statements.SCRIPT_BYTES))

    def ended_mate(self, peer: str, owner: str, pair: str | None, mate: str | None) -> JobRecord | None:
        """Return the last to end of the owner's jobs that name `peer` and the pair or, without a pair, the mate."""
        if pair is not None:
            return self._one(self._job_of, statements.ENDED_OF_PAIR, (owner, pair, peer))
        return self._one(self._job_of, statements.ENDED_WITH_MATE, (owner, peer, mate))

    def ended_member(self, owner: str, group: str) -> JobRecord | None:
        """Return the last to end of the owner's jobs that were in a group of this name."""
        return self._one(self._job_of, statements.ENDED_OF_GROUP, (owner, group))

    def jobs(
        self, states: Sequence[JobState] | None, owner: str | None, paired_only: bool, after_id: int, limit: int
    ) -> list[JobRecord]:
        """Return the first `limit` jobs (-1: all) with ids above `after_id` that meet all conditions; None: any."""
        return self._read(self._job_of, *statements.jobs(states, owner, paired_only, after_id, limit))

    def events(self, after: int, jobs: Sequence[int], kinds: Sequence[int], limit: int) -> list[EventRecord]:
        """Return the first `limit` events after that number, of these jobs and kinds (empty: all)."""
        return self._read(records.event_of, *statements.events(after, jobs, kinds, limit))

    def answers(self) -> list[tuple[str, str, str, str, list[Any]]]:
        """Return peer, its job, the request id of the job's last mutating call, and kind and fields of our answer."""
        return self._read(lambda row: (*row[:4], json.loads(row[4])), statements.ANSWERS)

    def answer(self, peer: str, caller: str) -> tuple[str, str, list[Any]] | None:
        """Return the request id of the last mutating call of that job, and kind and fields of our answer."""
        return self._one(lambda row: (row[0], row[1], json.loads(row[2])), statements.ANSWER, (peer, caller))

    def starts(self) -> list[tuple[str, int, Starts]]:
        """Return owner, hour, and what was started of this owner in that hour, by hour."""
        return self._read(lambda row: (row[0], row[1], Starts(*row[2:])), statements.STARTS)

    def runs(self) -> list[tuple[Origin, Runs]]:
        """Return the runs that have completed, in sums."""
        return self._read(records.runs_of, statements.RUNS)

    def stated_times(self) -> list[tuple[Pair, int]]:
        """Return the run times that were stated."""
        return self._read(lambda row: (Pair(*row[:2]), row[2]), statements.STATED_TIMES)

    def site(self) -> dict[str, tuple[list[str], list[Values]]]:
        """Return columns and rows of each table of the domain's site, and of what was learned of it."""
        return {name: self._table(name) for name in (*SITE_TABLES, *LEARNED_TABLES)}

    def _table(self, name: str) -> tuple[list[str], list[Values]]:
        columns = [column for (column,) in self._execute("SELECT name FROM pragma_table_info(?)", (name,))]
        return columns, self._execute(f"SELECT * FROM {name} ORDER BY 1, 2")

    def held_by_account(self, after: int) -> list[tuple[str, int, int]]:
        """Return account, hour, and the node-seconds held, of the hours after this one."""
        return self._read(lambda row: (row[0], row[1], row[2]), statements.HELD_BY_ACCOUNT, (after,))

    def estimates(self) -> list[EstimateRecord]:
        """Return all expected starts that are kept, by when they were made."""
        return self._read(lambda row: EstimateRecord(*row), statements.ESTIMATES)

    def reply(self, who: str, request_id: str) -> tuple[str, int | None, str] | None:
        """Return method, job and error of this user's call with that request id."""
        return self._one(lambda row: (row[0], row[1], row[2]), statements.REPLY, (who, request_id))

    def audit(self, limit: int) -> list[AuditRecord]:
        """Return the last `limit` records of the audit, oldest first."""
        return self._read(lambda row: AuditRecord(*row), statements.AUDIT, (limit,))[::-1]

    def _write(self, sql: str, rows: Iterable[Values]) -> int:
        """Execute the statement for each row of values; return how many rows it changed."""
        # A full disk may end the transaction. Later writes would then be stored at once, without the earlier ones.
        if not self._connection.in_transaction:
            raise RuntimeError("the store is written in transactions only")
        try:
            return self._connection.executemany(sql, rows).rowcount
        except sqlite3.Error as error:
            raise self.damage.note(StoreError.of(self._path, error)) from None
