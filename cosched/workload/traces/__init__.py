"""Job logs: read in four formats, written as SWF or CSV, cleaned of jobs that cannot be run, cut and scaled."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from cosched.errors import InputError
from cosched.workload.column import Column
from cosched.workload.jobs import TraceLog
from cosched.workload.traces.accounting import LINE_START, read_accounting
from cosched.workload.traces.cleaning import REASONS, clean, left_out_messages, machine_nodes, size_message
from cosched.workload.traces.opening import Block, StrPath, numbered, read_blocks, source_name
from cosched.workload.traces.sacct import ID_COLUMNS, SEPARATOR, read_sacct
from cosched.workload.traces.shaping import (
    cut,
    load_factor,
    offered_load,
    scale,
    scale_to_load,
    shift,
    with_estimates,
)
from cosched.workload.traces.swf import COLUMNS, read_swf
from cosched.workload.traces.swf_writer import write_swf
from cosched.workload.traces.table import read_table
from cosched.workload.traces.values import number

__all__ = [
    "FORMATS",
    "REASONS",
    "clean",
    "cut",
    "left_out_messages",
    "load_factor",
    "machine_nodes",
    "offered_load",
    "read_trace",
    "scale",
    "scale_to_load",
    "shift",
    "size_message",
    "with_estimates",
    "write_swf",
]

Reader = Callable[[Iterable[Block], str], TraceLog]

FORMATS: Mapping[str, Reader] = MappingProxyType(
    {"swf": read_swf, "accounting": read_accounting, "sacct": read_sacct, "csv": read_table}
)


def read_trace(
    path: StrPath, format: str | None = None, more: Sequence[Column] = (), implied: Mapping[str, str] | None = None
) -> TraceLog:
    """Read a job log, plain or gzip ('-': standard input), in one of `FORMATS` (None: detected from the first line).

    `more`, `implied`: see `read_table`.

    InputError names the file, the line and the reason if the file cannot be read or used. ValueError if there is
    no such format.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"{format!r} is no trace format; there are {', '.join(FORMATS)}")
    name = source_name(path)
    with contextlib.closing(read_blocks(path)) as blocks:
        first = list(itertools.islice(blocks, 1))
        found, lines = format or _detect(first, name), itertools.chain(first, blocks)
        return read_table(lines, name, more, implied) if found == "csv" else FORMATS[found](lines, name)


def _detect(blocks: list[Block], source: str) -> str:
    """Detect the format from the first line that is not blank."""
    line, text = next(numbered(blocks), (None, ""))
    if line is None:
        raise InputError(source, None, "no jobs: the file is empty")
    if LINE_START.match(text):
        return "accounting"
    if SEPARATOR in text and any(name.lower() in text.lower() for name in ID_COLUMNS):
        return "sacct"
    cells = text.split()
    if text.lstrip().startswith(";") or len(cells) == len(COLUMNS) or _is_number(cells[0]):
        return "swf"
    if "," in text:
        return "csv"
    raise InputError(source, line, f"not in a format that can be read here ({', '.join(FORMATS)})")


def _is_number(text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True
