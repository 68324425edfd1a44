"""Reads the Standard Workload Format, version 2.2: 18 columns of numbers, `;` comments, -1 for unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched.words.errors import InputError
from cosched_sim.workload.jobs import Ints, TraceLog
from cosched_sim.workload.log_options import PLAIN, LogOptions
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.opening import Block
from cosched_sim.workload.traces.values import LIMIT, number, seconds, whole

COLUMNS = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip

_INT64_MAX = 2**63 - 1


# The columns that a TraceLog keeps: index from 0, and the parser of a value.
_KEPT: dict[str, tuple[int, Callable[[str], int]]] = {
    "job_id": (0, partial(whole, limit=_INT64_MAX)),
    "submit": (1, seconds),
    "wait": (2, seconds),
    "run": (3, seconds),
    "allocated": (4, whole),
    "requested_procs": (7, whole),
    "requested_time": (8, seconds),
    "status": (10, whole),
    "user": (11, whole),
}
_KEPT_INDEX = [index for index, _ in _KEPT.values()]
_KEPT_PARSERS = dict(_KEPT.values())
_KEPT_WHOLE = np.array([parse is not seconds for _, parse in _KEPT.values()])

_HEADER_LINE = re.compile(r";+\s*([A-Za-z]\w*)\s*:(?!//)\s*(.*)", re.ASCII)


def read_swf(blocks: Iterable[Block], source: str, options: LogOptions = PLAIN, notes: Notes | None = None) -> TraceLog:
    """Read an SWF file from its blocks of lines; `source` names it in messages.

    Fractions of seconds are rounded down; columns that are not kept may hold any number. The value of a repeated
    header key has one line per occurrence; a line of the value that begins with a blank continues the one before.
    InputError names the line and the column of anything that is not a number.
    """
    notes = notes or Notes(source, options.skip_bad)
    header: dict[str, str] = {}
    comments = _Comments(header)
    parts: list[Ints] = []
    for block in blocks:
        lines, rows = _split(block, comments)
        if rows and (part := _columns(rows, lines, notes)).size:
            parts.append(part)
    if not parts:
        raise InputError(source, None, "no jobs")
    # Column by column, so that memory holds no third copy beside the parts and the result.
    *kept, line = (np.concatenate([part[i] for part in parts]) for i in range(len(_KEPT) + 1))
    columns: dict[str, Any] = dict(zip(_KEPT, kept, strict=True))
    return TraceLog(source=source, line=line, header=header, remarks=notes.remarks(), **columns)


class _Comments:
    """Collects `; Key: value` lines in `header`; other comments continue the key before, an empty one ends it."""

    def __init__(self, header: dict[str, str]) -> None:
        self._header = header
        self._key: str | None = None

    def add(self, text: str) -> None:
        match = _HEADER_LINE.fullmatch(text)
        if match:
            self._key, value = match[1], match[2].strip()
            if self._key in self._header:
                value = f"{self._header[self._key]}\n{value}"
            self._header[self._key] = value
            return
        comment = text.lstrip(";").rstrip()
        if not comment:
            self._key = None
        elif self._key:
            self._header[self._key] += f"\n {comment.lstrip()}"


def _split(block: Block, comments: _Comments) -> tuple[Ints, list[str]]:
    """Return the line numbers and rows of the jobs in a block; pass its comments to `comments`."""
    lines = block.lines
    kept = [i for i, text in enumerate(lines) if (start := text.lstrip()) and start[0] != ";"]
    if len(kept) == len(lines):
        return np.arange(block.first, block.first + len(lines)), lines
    for text in lines:
        stripped = text.strip()
        if stripped.startswith(";"):
            comments.add(stripped)
    return np.array(kept, dtype=np.int64) + block.first, [lines[i] for i in kept]


def _columns(rows: list[str], lines: Ints, notes: Notes) -> Ints:
    """Return the kept columns and the lines, shape (columns, rows); row by row where NumPy's reader fails."""
    for fast in (_whole_numbers, _any_numbers):
        columns = fast(rows)
        if columns is not None and columns[1:].min() >= -LIMIT and columns[1:].max() <= LIMIT:
            return np.vstack([columns, lines])
    return _row_by_row(rows, lines, notes)


def _table(rows: list[str], kind: type[np.int64] | type[np.float64]) -> NDArray[Any] | None:
    try:
        table = np.loadtxt(rows, dtype=kind, comments=None, ndmin=2)
    except ValueError:
        return None
    return table if table.shape == (len(rows), len(COLUMNS)) else None


def _whole_numbers(rows: list[str]) -> Ints | None:
    table = _table(rows, np.int64)
    return None if table is None else table[:, _KEPT_INDEX].T.astype(np.int64)


def _any_numbers(rows: list[str]) -> Ints | None:
    table = _table(rows, np.float64)
    if table is None or not np.isfinite(table).all():
        return None
    kept = table[:, _KEPT_INDEX].T
    floors = np.floor(kept)
    if (floors != kept)[_KEPT_WHOLE].any() or (abs(floors) >= 2**53).any():
        return None
    columns: Ints = floors.astype(np.int64)
    return columns


def _row_by_row(rows: list[str], lines: Ints, notes: Notes) -> Ints:
    """Read slowly but exactly what the fast readers cannot; InputError names the line and column of a mistake."""
    values = []
    for text, line in zip(rows, lines.tolist(), strict=True):
        try:
            values.append([*_row(text.split(), line, notes.source), line])
        except InputError as error:
            notes.bad(error)
    return np.array(values, dtype=np.int64).T


def _row(cells: Sequence[str], line: int, source: str) -> list[int]:
    if len(cells) != len(COLUMNS):
        count = f"{len(cells)} column{'s' * (len(cells) != 1)}"
        raise InputError(source, line, f"{count}, but an SWF line has {len(COLUMNS)}")
    kept = []
    for index, text in enumerate(cells):
        try:
            value = _KEPT_PARSERS.get(index, number)(text)
        except ValueError as error:
            raise InputError(source, line, f"column {index + 1} ({COLUMNS[index]}): {error}") from None
        if index in _KEPT_PARSERS:
            kept.append(int(value))
    return kept
