"""Collects jobs that are read row by row into the columns of a TraceLog."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, MutableSequence, Sequence
from itertools import chain
from typing import Any

import numpy as np

from cosched.schedulers.column import Column
from cosched.validation.text import shown
from cosched.words.errors import InputError
from cosched_sim.workload.jobs import UNKNOWN, Ints, JobIds, TraceLog, Values
from cosched_sim.workload.log_options import PLAIN, LogOptions
from cosched_sim.workload.traces.limits import NO_LIMIT, with_limits
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.runs import chosen

LONGEST_ID = 200

_COLUMNS = ("submit", "run", "wait", "allocated", "requested_procs", "requested_time", "status", "user", "line")


class LogBuilder:
    """A TraceLog under construction."""

    def __init__(self, notes: Notes, options: LogOptions = PLAIN, more: Sequence[Column] = ()) -> None:
        """`notes` are those on the log; `more`: columns that only some schedulers read."""
        self._notes = notes
        self._options = options
        self._ids: list[str] = []
        self._users: dict[str, int] = {}
        self._partitions: dict[int, str] = {}  # of the rows without a limit
        self._columns = {name: array("q") for name in _COLUMNS}
        self._more: dict[str, MutableSequence[Any]] = {of.name: array("q") if of.whole else [] for of in more}

    def add(
        self,
        line: int,
        job_id: str,
        *,
        submit: int,
        run: int,
        wait: int = UNKNOWN,
        allocated: int = UNKNOWN,
        requested_procs: int = UNKNOWN,
        requested_time: int = UNKNOWN,
        status: int = UNKNOWN,
        user: str = "",
        partition: str = "",
        more: Sequence[Any] = (),
    ) -> None:
        """Add one job: times in seconds, sizes in processors, status as in SWF; `user` is a name or a number.

        A requested time of NO_LIMIT: the job had none of its own; then `partition` counts. InputError.
        """
        if not 0 < len(job_id) <= LONGEST_ID:
            raise InputError(self._notes.source, line, f"{shown(job_id)} cannot be a job id")
        if requested_time == NO_LIMIT:
            self._partitions[len(self._ids)] = partition
        self._ids.append(job_id)
        run, wait = max(run, UNKNOWN), max(wait, UNKNOWN)  # clocks that were set back
        user_index = self._users.setdefault(user, len(self._users)) if user else UNKNOWN
        row = (submit, run, wait, allocated, requested_procs, requested_time, status, user_index, line)
        for column, value in zip(chain(self._columns.values(), self._more.values()), chain(row, more), strict=True):
            column.append(value)

    def build(self, header: Mapping[str, str], start: int | None = None, *, has_runs: bool = False) -> TraceLog:
        """Return the log, with known submit times counted from `start` if given; InputError if there is no job.

        `has_runs`: rows with one id are runs of one job.
        """
        if not self._ids:
            raise InputError(self._notes.source, None, "no jobs")
        columns, more = ({name: _array(of) for name, of in its.items()} for its in (self._columns, self._more))
        if start is not None:
            submit = columns["submit"]
            submit[submit != UNKNOWN] -= start
        columns["user"] = self._user_numbers(columns["user"])
        ids = self._ids
        if has_runs:
            rows, ids = chosen(ids, columns["submit"], columns["wait"], columns["run"], self._options.runs, self._notes)
            if len(rows) < len(ids):
                columns, more = ({name: each[rows] for name, each in of.items()} for of in (columns, more))
                ids = [ids[row] for row in rows.tolist()]
                self._partitions = {
                    place: self._partitions[row] for place, row in enumerate(rows.tolist()) if row in self._partitions
                }
        limits = self._options.partition_limit
        with_limits(columns["requested_time"], columns["run"], self._partitions, limits, self._notes)
        return TraceLog(
            source=self._notes.source,
            job_id=job_ids(ids),
            header=header,
            columns=more,
            remarks=self._notes.remarks(),
            local_times=self._notes.local_times,
            **columns,
        )

    def _user_numbers(self, index: Ints) -> Ints:
        """Return users as numbers: their own if all are numbers, else 1, 2, ... by first appearance."""
        names = list(self._users)
        own = all(_is_int64(name) for name in names)
        table = np.array([int(n) for n in names] if own else range(1, len(names) + 1), dtype=np.int64)
        return np.append(table, UNKNOWN)[index]  # index -1 selects the last entry


def _array(column: Sequence[Any]) -> Values:
    """Return a column; what is not a number stays as it is."""
    return np.fromiter(column, np.int64 if isinstance(column, array) else object, len(column))


def job_ids(ids: list[str]) -> JobIds:
    """Return job ids as int64 if every one is a plain number without leading zeros, else as text."""
    if all(map(_is_int64, ids)):
        return np.array([int(text) for text in ids], dtype=np.int64)
    return np.array(ids, dtype=np.str_)


def _is_int64(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18 and (text[0] != "0" or text == "0")
