"""Reads a CSV file with named columns: job_id, submit, run, nodes or procs; optionally requested, user, wait.

A scheduler may read more columns of its own.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cosched.schedulers.column import Column
from cosched.words.errors import InputError
from cosched.words.quantities import count
from cosched_sim.workload.jobs import LEAST, UNKNOWN, TraceLog
from cosched_sim.workload.log_options import PLAIN, LogOptions
from cosched_sim.workload.traces.builder import LogBuilder
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.opening import Block
from cosched_sim.workload.traces.values import is_number, known, seconds, whole

NEEDED = ("job_id", "submit", "run")
SIZES = ("nodes", "procs")
NO_HEADER = (
    "a log without a header: say what its columns are by the option columns, as JobID,Submit,Elapsed,NNodes for sacct,"
    " else as job_id,submit,run,nodes"
)


def read_table(
    blocks: Iterable[Block],
    source: str,
    more: Sequence[Column] = (),
    implied: Mapping[str, str] | None = None,
    options: LogOptions = PLAIN,
    notes: Notes | None = None,
) -> TraceLog:
    """Read a CSV file from its blocks of lines; `source` names it in messages, `more` are columns for a scheduler.

    `implied`: columns that the file need not have, and what each job has there if it does not.

    Times are seconds (fractions are rounded down) and are not shifted; an empty cell is unknown. Sizes are nodes if
    there is a column `nodes`, else processors: `header["Unit"]` says which. Other columns are ignored. InputError
    names a missing column, or the line and column of a value that cannot be read.
    """
    notes = notes or Notes(source, options.skip_bad)
    rows = _rows(csv.reader((text for _, lines in blocks for text in lines), strict=True), notes)
    line, names = (1, list(options.columns)) if options.columns else next(rows, (0, []))
    if not names:
        raise InputError(source, None, "no jobs")
    names = [name.strip().lower() for name in names]
    index = _index(names, line, source, [column.name for column in more], implied or {})
    size = next((name for name in SIZES if name in index), "nodes")
    there = [column for column in more if column.name in index]
    builder = LogBuilder(notes, options, there)
    named_by = "the option columns names" if options.columns else "the first line names"
    for line, cells in rows:
        try:
            if len(cells) != len(names):
                raise InputError(source, line, f"{count(len(cells), 'column')}, but {named_by} {len(names)}")
            row = _Row(source, line, {**(implied or {}), **{name: cells[i].strip() for name, i in index.items()}})
            _add(builder, row, size, there)
        except InputError as error:
            notes.bad(error)
    return builder.build({"Unit": "nodes" if size == "nodes" else "processors"})


def _add(builder: LogBuilder, row: _Row, size: str, more: Sequence[Column]) -> None:
    number = row.value(whole, size)
    builder.add(
        row.line,
        row.text("job_id"),
        submit=row.value(seconds, "submit"),
        run=row.value(seconds, "run"),
        wait=row.value(seconds, "wait"),
        allocated=number,
        requested_procs=number,
        requested_time=row.value(seconds, "requested"),
        user=row.text("user"),
        more=[row.more(column, number) for column in more],
    )


class _Row:
    def __init__(self, source: str, line: int, cells: dict[str, str]) -> None:
        self._source = source
        self.line = line
        self._cells = cells

    def text(self, name: str) -> str:
        return self._cells.get(name, "")

    def value(self, parse: Callable[[str], Any], name: str) -> Any:
        try:
            return parse(self.text(name)) if known(self.text(name)) else UNKNOWN
        except ValueError as error:
            raise InputError(self._source, self.line, f"column {name}: {error}") from None

    def more(self, column: Column, size: int) -> Any:
        """Return the value of a column for a scheduler, of a job of this size."""
        value = self.value(column.read, column.name)
        if column.name == LEAST and value > size > 0:
            said = f"column {LEAST}: {value} is above the size of the job, {size}"
            raise InputError(self._source, self.line, said)
        return value


def _rows(reader: Iterator[list[str]], notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) for every row that is not blank."""
    end = 0
    while True:
        # A quoted cell may contain line ends, so a row starts on the line after the end of the row before.
        line, cells = end + 1, []
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # An open quote may have swallowed many lines.
            notes.bad(InputError(notes.source, line, f"not CSV: {error}"), getattr(reader, "line_num", line) - end)
        end = getattr(reader, "line_num", line)
        if any(cell.strip() for cell in cells):
            yield line, cells


def _index(names: list[str], line: int, source: str, more: Sequence[str], implied: Mapping[str, str]) -> dict[str, int]:
    for name in NEEDED:
        if name not in (*names, *implied):
            bare = len(names) > 2 and any(map(is_number, names))
            raise InputError(source, line, NO_HEADER if bare else f"the column {name} is missing")
    if not any(name in (*names, *implied) for name in SIZES):
        raise InputError(source, line, f"the column {' or '.join(SIZES)} is missing")
    wanted = (*NEEDED, *SIZES, "requested", "user", "wait", *more)
    twice = next((name for name in wanted if names.count(name) > 1), None)
    if twice:
        raise InputError(source, line, f"the column {twice} occurs twice")
    return {name: names.index(name) for name in wanted if name in names}
