"""Reads the output of Slurm's `sacct --parsable2`: a line of column names, then one line a job or step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cosched.errors import InputError
from cosched.workload.jobs import UNKNOWN, TraceLog
from cosched.workload.traces.builder import LogBuilder
from cosched.workload.traces.opening import Block, numbered
from cosched.workload.traces.values import duration, instant, known, number, optional, whole

SEPARATOR = "|"
ID_COLUMNS = ("JobIDRaw", "JobID")

_ALLOCATED_NODES, _REQUESTED_NODES = ("AllocNodes", "NNodes"), ("ReqNodes",)
_ALLOCATED_CPUS, _REQUESTED_CPUS = ("AllocCPUS", "NCPUS"), ("ReqCPUS",)
_SWF_STATUS = {"COMPLETED": 1, "CANCELLED": 5, "DEADLINE": 5}
_UNFINISHED = frozenset(
    {"PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "RESIZING", "CONFIGURING", "COMPLETING"}
)
_FAILED = 0


def read_sacct(blocks: Iterable[Block], source: str) -> TraceLog:
    """Read sacct output from its blocks of lines; `source` names it in messages.

    Columns are found by name: JobIDRaw or JobID; Submit; ElapsedRaw, Elapsed, or Start and End; a size; and
    optionally Timelimit(Raw), Start, End, State, User. Sizes are nodes (AllocNodes, NNodes, ReqNodes) if there is
    such a column, else CPUs: `header["Unit"]` says which. ReqNodes is only the minimum that a job asked for, so a
    job's size is what it was allocated; its request is used only if nothing was allocated. Times without a zone are
    taken as UTC and count from the earliest submission, `header["UnixStartTime"]`. Steps are skipped; a job that has
    not ended has no run time. InputError names a missing column, or the line and column of a value that cannot be
    read.
    """
    rows = numbered(blocks)
    first = next(rows, None)
    if first is None:
        raise InputError(source, None, "no jobs")
    table = _Table(source, first[0], first[1])
    builder = LogBuilder(source)
    start: int | None = None
    for line, text in rows:
        row = table.row(line, text)
        job_id = row.text(*ID_COLUMNS)
        if "." in job_id:
            continue
        submit = row.value(instant, "Submit")
        if submit != UNKNOWN:
            start = submit if start is None else min(start, submit)
        _add(builder, row, job_id, submit, table.unit_nodes)
    header = {"UnixStartTime": str(start or 0), "Unit": "nodes" if table.unit_nodes else "processors"}
    return builder.build(header, start or 0)


class _Table:
    """The column names and their positions."""

    def __init__(self, source: str, line: int, text: str) -> None:
        self.source = source
        names = [name.strip().lower() for name in text.removesuffix(SEPARATOR).split(SEPARATOR)]
        self.width = len(names)
        self.index = {name: i for i, name in enumerate(names)}
        self._require(line, ID_COLUMNS)
        self._require(line, ("Submit",))
        if not self._has("Start", "End"):
            self._require(line, ("Elapsed", "ElapsedRaw"))
        self.unit_nodes = any(self._has(name) for name in _ALLOCATED_NODES + _REQUESTED_NODES)
        self._require(line, _ALLOCATED_NODES + _REQUESTED_NODES + _ALLOCATED_CPUS + _REQUESTED_CPUS)

    def _has(self, *names: str) -> bool:
        return all(name.lower() in self.index for name in names)

    def _require(self, line: int, names: Sequence[str]) -> None:
        if not any(self._has(name) for name in names):
            raise InputError(self.source, line, f"the column {' or '.join(names)} is missing")

    def row(self, line: int, text: str) -> _Row:
        cells = text.strip("\r").split(SEPARATOR)
        # --parsable (without the 2) ends every line with a separator.
        if len(cells) == self.width + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != self.width:
            raise InputError(self.source, line, f"{len(cells)} columns, but the first line names {self.width}")
        return _Row(self, line, cells)


@dataclass(slots=True)
class _Row:
    table: _Table
    line: int
    cells: list[str]

    def text(self, *names: str) -> str:
        """Return the value of the first of these columns that exists and is known, else ''."""
        return self._find(names)[1]

    def value(self, parse: Callable[[str], int], *names: str) -> int:
        """Return the same value read by `parse`; UNKNOWN if there is none."""
        name, text = self._find(names)
        try:
            return optional(parse, text)
        except ValueError as error:
            raise InputError(self.table.source, self.line, f"column {name}: {error}") from None

    def _find(self, names: Sequence[str]) -> tuple[str, str]:
        for name in names:
            index = self.table.index.get(name.lower())
            if index is not None and known(text := self.cells[index].strip()):
                return name, text
        return names[0], ""


def _minutes(text: str) -> int:
    return int(number(text) * 60)


def _add(builder: LogBuilder, row: _Row, job_id: str, submit: int, unit_nodes: bool) -> None:
    start = row.value(instant, "Start")
    allocated, requested = _size(row, unit_nodes)
    status = _status(row.text("State"))
    requested_time = row.value(_minutes, "TimelimitRaw")
    builder.add(
        row.line,
        job_id,
        submit=submit,
        run=_run(row, start),
        wait=start - submit if UNKNOWN not in (start, submit) else UNKNOWN,
        allocated=allocated,
        requested_procs=allocated if allocated > 0 else requested,
        requested_time=requested_time if requested_time != UNKNOWN else row.value(duration, "Timelimit"),
        status=status,
        user=row.text("User"),
    )


def _size(row: _Row, unit_nodes: bool) -> tuple[int, int]:
    """Return the allocated and requested nodes or CPUs."""
    if unit_nodes:
        return row.value(whole, *_ALLOCATED_NODES), row.value(whole, *_REQUESTED_NODES)
    return row.value(whole, *_ALLOCATED_CPUS), row.value(whole, *_REQUESTED_CPUS)


def _state(text: str) -> str:
    """Reduce 'CANCELLED by 1000' to CANCELLED, 'NODE_FAIL+' to NODE_FAIL."""
    return text.split(" ")[0].rstrip("+").upper()


def _status(text: str) -> int:
    state = _state(text)
    return UNKNOWN if not state or state in _UNFINISHED else _SWF_STATUS.get(state, _FAILED)


def _run(row: _Row, start: int) -> int:
    """Return the seconds that the job ran; UNKNOWN if it has not ended, whatever has elapsed so far."""
    end = row.value(instant, "End")
    if _state(row.text("State")) in _UNFINISHED or ("end" in row.table.index and end == UNKNOWN):
        return UNKNOWN
    elapsed = row.value(duration, "ElapsedRaw", "Elapsed")
    if elapsed == UNKNOWN and UNKNOWN not in (start, end):
        return end - start
    return elapsed
