"""Reads the database: by the service's own connection, and by a second one that only reads.

No statement of the second looks at more than RANGE rows, however few are wanted: a long one would keep all other
readers waiting, and keep SQLite from reusing the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cosched.core.job import JobState
from cosched.service.store import statements
from cosched.service.store.errors import StoreError
from cosched.service.store.opening import open_beside
from cosched.service.store.records import EventRecord, JobRecord, Sample, event_of, job_of
from cosched.service.store.schema import DOMAIN, RETIRED

T = TypeVar("T")
Values = Sequence[Any]
RANGE = 10_000  # rows


class Damage:
    """Damage that shows while the database is in use; both connections share it."""

    def __init__(self) -> None:
        self.found: StoreError | None = None
        self.tell: Callable[[StoreError], object] = lambda _: None  # called in any thread

    def note(self, error: StoreError) -> StoreError:
        """Return the error; the first one that is of damage is told."""
        if error.damaged and self.found is None:
            self.found = error
            self.tell(error)
        return error


class Reading:
    """The reads that both connections offer. All errors of the database are StoreError."""

    def __init__(self, path: Path, connection: sqlite3.Connection, damage: Damage) -> None:
        self._path = path
        self._connection = connection
        self.damage = damage
        self._job_of = partial(job_of, self.meta(DOMAIN) or "")

    def meta(self, key: str) -> str | None:
        """Return the value of this key."""
        value: str | None = self._value(statements.META, (key,))
        return value

    def last_sequence(self) -> int:
        """Return the highest number of any event ever added; 0 if there was none."""
        return int(self._value(statements.LAST_NUMBER, ("events",)) or 0)

    def first_sequence(self) -> int:
        """Return the number from which on no event has been deleted; jobs that are still here may have older events."""
        return int(self.meta(RETIRED) or 0) + 1

    def job(self, id: int) -> JobRecord | None:
        """Return the job with this id."""
        return self._one(self._job_of, statements.JOB, (id,))

    def cost(self, job: int) -> tuple[int, ...]:
        """Return the node-seconds that the job has held, had booked, has pushed others by, and has kept by slots."""
        return self._read(lambda row: tuple(map(int, row)), statements.COST, (job,))[0]

    def _execute(self, sql: str, values: Values = ()) -> list[Any]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self.damage.note(StoreError.of(self._path, error)) from None

    def _read(self, convert: Callable[[Any], T], sql: str, values: Values = ()) -> list[T]:
        rows = self._execute(sql, values)
        try:
            return list(map(convert, rows))
        except ValueError as error:
            raise self.damage.note(StoreError(self._path, f"a record: {error}", damaged=True)) from None

    def _one(self, convert: Callable[[Any], T], sql: str, values: Values) -> T | None:
        return next(iter(self._read(convert, sql, values)), None)

    def _value(self, sql: str, values: Values) -> Any:
        rows = self._execute(sql, values)
        return rows[0][0] if rows else None


class Reader(Reading):
    """A connection that only reads, beside an open Store; for any thread, one at a time.

    It sees what a transaction wrote as soon as the transaction has ended. At most RANGE rows are looked at: so some
    methods also return the number after (or before) which to go on; None: there are no more.
    """

    @classmethod
    def open(cls, path: Path, damage: Damage) -> Reader:
        """Open a reader of the database at `path`, which a Store has open; StoreError."""
        try:
            return cls(path, open_beside(path).conn, damage)
        except (OSError, sqlite3.Error) as error:
            raise StoreError.of(path, error) from None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def jobs(
        self, states: Sequence[JobState] | None, owner: str | None, paired_only: bool, after_id: int, limit: int,
        group: str | None = None,
    ) -> tuple[list[JobRecord], int | None]:  # fmt: skip
        """Return at most `limit` jobs with ids above `after_id` that meet all conditions, by id (None: any)."""
        until = self._end_of_range(statements.NEXT_JOB, "jobs", after_id)
        if until is None:
            return [], None
        found = self._read(self._job_of, *statements.jobs(states, owner, paired_only, after_id, limit, until, group))
        return found, found[-1].id if len(found) == limit else until

    def events(
        self, after: int, jobs: Sequence[int], kinds: Sequence[int], limit: int
    ) -> tuple[list[EventRecord], int | None]:
        """Return at most `limit` events after that number, of these jobs and kinds (empty: all)."""
        until = self._end_of_range(statements.NEXT_EVENT, "events", after)
        if until is None:
            return [], None
        found = self._read(event_of, *statements.events(after, jobs, kinds, limit, until))
        return found, found[-1].sequence if len(found) == limit else until

    def samples(self, since: int) -> list[Sample]:
        """Return the samples since then, in order; at most RANGE."""
        return self._read(Sample._make, statements.SAMPLES, (since, RANGE))

    def events_before(self, before: int, kinds: Sequence[int], since: int) -> tuple[list[EventRecord], int | None]:
        """Return events of these kinds since that instant with numbers below `before`, the last one first."""
        last: int | None = self._value(statements.PREVIOUS_EVENT, (before,))
        if last is None:
            return [], None
        found = self._read(event_of, *statements.events_before(last + 1, kinds, RANGE))
        wanted = [event for event in found if event.at >= since]
        return wanted, last + 1 - RANGE if len(wanted) == len(found) else None

    def ended_since(self, since: int, limit: int) -> list[JobRecord]:
        """Return jobs with mates that have ended since then, at most `limit`, the last one first."""
        return self._read(self._job_of, statements.ENDED_SINCE, (since, limit))

    def stories(self, jobs: Sequence[int], kinds: Sequence[int], limit: int) -> list[EventRecord]:
        """Return the last events of a few jobs, at most `limit`, in order; of these kinds, none: of all."""
        return self._read(event_of, *statements.stories(jobs, kinds, limit))[::-1]

    def charges(self, by: str, since: int, after: tuple[int, int]) -> list[tuple[int, int, str, int, int, int, int]]:
        """Return the next charges from the hour `since` on, RANGE at most; `after`: hour and job of the one before.

        Of each: hour, job, its owner, account or pair (`by`), and the node-seconds: the fields of Cost.
        """
        return self._execute(statements.CHARGES.format(by=by), (since, *after, RANGE))

    def _end_of_range(self, next_of: str, table: str, after: int) -> int | None:
        """Return the last number to look at: RANGE from the next existing one; None if there is none."""
        last = int(self._value(statements.LAST_NUMBER, (table,)) or 0)
        following: int | None = self._value(next_of, (after,))
        return None if following is None else min(following + RANGE - 1, max(last, following))
