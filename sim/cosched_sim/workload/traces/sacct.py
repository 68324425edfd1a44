"""Reads the output of Slurm's `sacct`: `--parsable2`, with any delimiter, with a header or without; or `--json`."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import chain, pairwise, product
from typing import TypeVar

from cosched.words.errors import InputError
from cosched.words.quantities import count
from cosched_sim.workload.jobs import UNKNOWN, TraceLog
from cosched_sim.workload.log_options import PLAIN, LogOptions
from cosched_sim.workload.traces.builder import LogBuilder
from cosched_sim.workload.traces.limits import NO_LIMIT
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.opening import Block, numbered
from cosched_sim.workload.traces.sacct_json import JSON_COLUMNS, json_rows, looks_like_json
from cosched_sim.workload.traces.values import duration, instants, is_local, known, number, whole

Instants = tuple[int, ...]  # one, or two that a clock shows alike; UNKNOWN if a log does not say it


def settled(submit: Instants, start: Instants, end: Instants, elapsed: int) -> tuple[int, int, int]:
    """Return which of the instants were meant: in order, and as long between start and end as has elapsed, if possible.

    A clock that is set back repeats an hour. Of several such choices the earliest counts.
    """
    if len(submit) + len(start) + len(end) == 3:
        return submit[0], start[0], end[0]
    choices = list(product(submit, start, end))
    in_order = [times for times in choices if _in_order(times)] or choices
    exact = [times for times in in_order if times[2] - times[1] == elapsed]
    return (exact or in_order)[0]


def _in_order(times: tuple[int, ...]) -> bool:
    return all(earlier <= later for earlier, later in pairwise(time for time in times if time != UNKNOWN))


T = TypeVar("T")

SEPARATORS = "|,;\t"
ID_COLUMNS = ("JobIDRaw", "JobID")

_ALLOCATED_NODES, _REQUESTED_NODES = ("AllocNodes", "NNodes"), ("ReqNodes",)
_ALLOCATED_CPUS, _REQUESTED_CPUS = ("AllocCPUS", "NCPUS"), ("ReqCPUS",)
_SWF_STATUS = {"COMPLETED": 1, "CANCELLED": 5, "DEADLINE": 5}
# A run that was requeued, or a part of one that was resized, has ended if its record has an end.
_UNFINISHED = frozenset(
    {"PENDING", "RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "REQUEUE_HOLD", "REQUEUE_FED"}
    | {"CONFIGURING", "COMPLETING"}
)
_FAILED = 0
_IDS = frozenset(name.lower() for name in ID_COLUMNS)


def is_id_column(name: str) -> bool:
    """Return whether a column of this name has the ids of jobs."""
    return name.strip().lower() in _IDS


def header_separator(text: str) -> str | None:
    """Return what separates the names if the line is a header of sacct's, else None."""
    return next((each for each in SEPARATORS if each in text and any(map(is_id_column, text.split(each)))), None)


def read_sacct(
    blocks: Iterable[Block], source: str, options: LogOptions = PLAIN, notes: Notes | None = None
) -> TraceLog:
    """Read sacct output from its blocks of lines; `source` names it in messages.

    Columns are found by name: JobIDRaw or JobID; Submit; ElapsedRaw, Elapsed, or Start and End; a size; and
    optionally Timelimit(Raw), Start, End, State, User, Partition. Sizes are nodes (AllocNodes, NNodes, ReqNodes) if
    there is such a column, else CPUs: `header["Unit"]` says which. ReqNodes is only the minimum that a job asked for,
    so a job's size is what it was allocated; its request is used only if nothing was allocated. Times without a zone
    are those of the option `timezone`, else UTC, and count from the earliest submission, `header["UnixStartTime"]`.
    Steps are skipped; a job that has not ended has no run time. Records with the same id are runs of a job.
    InputError names a missing column, or the line and column of a value that cannot be read.
    """
    notes = notes or Notes(source, options.skip_bad)
    table, rows = _open(numbered(blocks), source, options)
    builder = LogBuilder(notes, options)
    start: int | None = None
    for line, cells in rows:
        try:
            submit = _add(builder, table.row(line, cells))
        except InputError as error:
            notes.bad(error)
            continue
        if submit != UNKNOWN:
            start = submit if start is None else min(start, submit)
    if table.local_times:
        notes.local_times = options.timezone or "UTC"
    header = {"UnixStartTime": str(start or 0), "Unit": "nodes" if table.unit_nodes else "processors"}
    if options.timezone and table.local_times:
        header["TimeZoneString"] = options.timezone
    return builder.build(header, start or 0, has_runs=True)


def _open(
    lines: Iterator[tuple[int, str]], source: str, options: LogOptions
) -> tuple[_Table, Iterator[tuple[int, list[str]]]]:
    """Return the table, and its rows with their line numbers, or in JSON the numbers of the jobs."""
    first = next(lines, None)
    if first is None:
        raise InputError(source, None, "no jobs")
    line, text = first
    if looks_like_json(text):
        return _Table(source, 1, JSON_COLUMNS, options), json_rows((text for _, text in (first, *lines)), source)
    separator = header_separator(text)
    if options.columns:
        separator = separator or _separator(text, len(options.columns))
        # A header is skipped below, as it is where several logs follow each other.
        return _Table(source, line, options.columns, options), _rows(chain([first], lines), separator)
    separator = separator or SEPARATORS[0]
    names = [name.strip() for name in text.strip().removesuffix(separator).split(separator)]
    return _Table(source, line, names, options), _rows(lines, separator)


def _separator(row: str, width: int) -> str:
    """Return what separates a row into so many cells; the usual separator if nothing does."""
    return next((each for each in SEPARATORS if len(row.split(each)) in (width, width + 1)), SEPARATORS[0])


def _rows(lines: Iterable[tuple[int, str]], separator: str) -> Iterator[tuple[int, list[str]]]:
    for line, text in lines:
        quoted = separator != SEPARATORS[0] and '"' in text
        cells = next(csv.reader([text], delimiter=separator)) if quoted else text.strip("\r").split(separator)
        yield line, cells


Column = tuple[str, int]  # its name, and its place


class _Table:
    """The columns that are read, and what they mean."""

    def __init__(self, source: str, line: int, names: Sequence[str], options: LogOptions) -> None:
        self.source = source
        self.width = len(names)
        self._named_by = "the option columns" if options.columns else "the first line"
        self.zone = options.zone or UTC
        self.local_times = False
        self._line = line
        self._places = {name.lower(): place for place, name in enumerate(names)}
        self.id = self._needed(*ID_COLUMNS)
        self.submit = self._needed("Submit")
        self.start, self.end = self._columns("Start"), self._columns("End")
        self.elapsed = self._columns("ElapsedRaw", "Elapsed")
        if not (self.start and self.end):
            self._needed("Elapsed", "ElapsedRaw")
        nodes = self._columns(*_ALLOCATED_NODES), self._columns(*_REQUESTED_NODES)
        self.unit_nodes = any(nodes)
        if not self.unit_nodes:
            self._needed(*_ALLOCATED_NODES, *_REQUESTED_NODES, *_ALLOCATED_CPUS, *_REQUESTED_CPUS)
        cpus = self._columns(*_ALLOCATED_CPUS), self._columns(*_REQUESTED_CPUS)
        self.allocated, self.requested = nodes if self.unit_nodes else cpus
        self.minutes, self.limit = self._columns("TimelimitRaw"), self._columns("Timelimit")
        self.state, self.user, self.partition = map(self._columns, ("State", "User", "Partition"))

    def _columns(self, *names: str) -> list[Column]:
        return [(name, self._places[name.lower()]) for name in names if name.lower() in self._places]

    def _needed(self, *names: str) -> list[Column]:
        if not (found := self._columns(*names)):
            raise InputError(self.source, self._line, f"the column {' or '.join(names)} is missing")
        return found

    def row(self, line: int, cells: list[str]) -> _Row:
        # --parsable (without the 2) ends every line with a separator.
        if len(cells) == self.width + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != self.width:
            reason = f"{count(len(cells), 'column')}, but {self._named_by} names {self.width}"
            raise InputError(self.source, line, reason)
        return _Row(self, line, cells)


@dataclass(slots=True)
class _Row:
    table: _Table
    line: int
    cells: list[str]

    def text(self, columns: list[Column]) -> str:
        """Return the value of the first of these columns that is known, else ''."""
        return self.value(str, columns, "")

    def value(self, parse: Callable[[str], T], columns: list[Column], otherwise: T) -> T:
        """Return the same value read by `parse`."""
        for name, place in columns:
            if known(text := self.cells[place].strip()):
                try:
                    return parse(text)
                except ValueError as error:
                    raise InputError(self.table.source, self.line, f"column {name}: {error}") from None
        return otherwise

    def instants(self, columns: list[Column]) -> Instants:
        """Return when something was, twice if a clock showed that time twice."""
        table = self.table
        table.local_times = table.local_times or is_local(self.text(columns))
        return self.value(lambda text: instants(text, table.zone), columns, (UNKNOWN,))


def _add(builder: LogBuilder, row: _Row) -> int:
    """Add a row, unless it is a step or a header; return when it was submitted."""
    table = row.table
    job_id = row.text(table.id)
    if "." in job_id or is_id_column(job_id):
        return UNKNOWN
    elapsed = row.value(duration, table.elapsed, UNKNOWN)
    times = row.instants(table.submit), row.instants(table.start), row.instants(table.end)
    submit, start, end = settled(*times, elapsed)
    allocated, requested = row.value(whole, table.allocated, UNKNOWN), row.value(whole, table.requested, UNKNOWN)
    state = _state(row.text(table.state))
    builder.add(
        row.line,
        job_id,
        submit=submit,
        run=_run(state, start, end, elapsed, bool(table.end)),
        wait=start - submit if UNKNOWN not in (start, submit) else UNKNOWN,
        allocated=allocated,
        requested_procs=allocated if allocated > 0 else requested,
        requested_time=_limit(row),
        status=UNKNOWN if not state or state in _UNFINISHED else _SWF_STATUS.get(state, _FAILED),
        user=row.text(table.user),
        partition=row.text(table.partition),
    )
    return submit


def _limit(row: _Row) -> int:
    """Return the requested time; NO_LIMIT for UNLIMITED, Partition_Limit and the like."""
    table = row.table
    if not (table.minutes or table.limit):
        return UNKNOWN
    minutes = row.value(lambda text: int(number(text) * 60), table.minutes, NO_LIMIT)
    return minutes if minutes != NO_LIMIT else row.value(duration, table.limit, NO_LIMIT)


def _state(text: str) -> str:
    """Reduce 'CANCELLED by 1000' to CANCELLED, 'NODE_FAIL+' to NODE_FAIL."""
    return text.split(" ")[0].rstrip("+").upper()


def _run(state: str, start: int, end: int, elapsed: int, has_ends: bool) -> int:
    """Return the seconds that the job ran; UNKNOWN if it has not ended, whatever has elapsed so far."""
    if state in _UNFINISHED or (has_ends and end == UNKNOWN):
        return UNKNOWN
    return end - start if elapsed == UNKNOWN and UNKNOWN not in (start, end) else elapsed
