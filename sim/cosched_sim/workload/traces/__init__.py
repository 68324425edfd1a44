"""Job logs: read in four formats, written as SWF or CSV, cleaned of jobs that cannot be run, cut and scaled."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from cosched.schedulers.column import Column
from cosched.words.errors import InputError
from cosched_sim.workload.jobs import TraceLog
from cosched_sim.workload.log_options import PLAIN, LogOptions
from cosched_sim.workload.traces.accounting import LINE_START, read_accounting
from cosched_sim.workload.traces.cleaning import REASONS, clean, left_out_messages, machine_nodes, size_message
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.opening import Block, StrPath, read_blocks, source_name
from cosched_sim.workload.traces.sacct import SEPARATORS, header_separator, is_id_column, read_sacct
from cosched_sim.workload.traces.sacct_json import looks_like_json
from cosched_sim.workload.traces.shaping import (
    cut,
    load_factor,
    offered_load,
    scale,
    scale_to_load,
    shift,
    with_estimates,
)
from cosched_sim.workload.traces.swf import COLUMNS, read_swf
from cosched_sim.workload.traces.swf_writer import write_swf
from cosched_sim.workload.traces.table import NO_HEADER, read_table
from cosched_sim.workload.traces.values import is_number

_FEWEST = 3  # columns of a log
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
FORMATS: Mapping[str, Callable[..., TraceLog]] = MappingProxyType(
    {"swf": read_swf, "accounting": read_accounting, "sacct": read_sacct, "csv": read_table}
)
_OPTIONS = {  # that are for logs of some formats only
    "columns": ("sacct", "csv"),
    "timezone": ("sacct", "accounting"),
    "runs": ("sacct", "accounting"),
    "partition_limit": ("sacct", "accounting"),
}


def read_trace(
    path: StrPath,
    format: str | None = None,
    more: Sequence[Column] = (),
    implied: Mapping[str, str] | None = None,
    options: LogOptions = PLAIN,
) -> TraceLog:
    """Read a job log, plain or packed ('-': standard input), in one of `FORMATS` (None: detected from the first line).

    `more`, `implied`: see `read_table`.

    InputError names the file, the line and the reason if the file cannot be read or used, or an option that logs of its
    format do not have. ValueError if there is no such format.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"{format!r} is not a trace format; there are {', '.join(FORMATS)}")
    name = source_name(path)
    notes = Notes(name, options.skip_bad)
    with contextlib.closing(read_blocks(path, notes=notes)) as blocks:
        first = list(itertools.islice(blocks, 1))
        found, lines = format or detected(first, options, notes), itertools.chain(first, blocks)
        for option, formats in _OPTIONS.items():
            if found not in formats and getattr(options, option) != getattr(PLAIN, option):
                raise InputError(name, option, f"is for logs of {' and '.join(formats)}; this one is {found}")
        columns = {"more": more, "implied": implied} if found == "csv" else {}
        return FORMATS[found](lines, name, options=options, notes=notes, **columns)


def detected(blocks: Sequence[Block], options: LogOptions, notes: Notes) -> str:
    """Return the format of the first line that is not blank; InputError if it is none, or one that is not read here.

    Lines before it that `notes` take as bad ones become empty.
    """
    for first, lines in blocks:
        for place, text in enumerate(lines):
            if not text or text.isspace():
                continue
            try:
                return _format(text, options)
            except ValueError as error:
                notes.bad(InputError(notes.source, first + place, str(error)))
                lines[place] = ""
    raise InputError(notes.source, None, "no jobs: the file is empty")


def _format(text: str, options: LogOptions) -> str:
    if options.columns:
        return "sacct" if any(map(is_id_column, options.columns)) else "csv"
    if LINE_START.match(text):
        return "accounting"
    if looks_like_json(text) or header_separator(text) is not None:
        return "sacct"
    cells = text.split()
    if text.lstrip().startswith(";") or len(cells) == len(COLUMNS) or is_number(cells[0]):
        return "swf"
    if any(map(is_id_column, cells)):
        raise ValueError("sacct in columns of fixed width: write it with `sacct --parsable2`")
    if text.count(SEPARATORS[0]) >= _FEWEST - 1:
        raise ValueError(NO_HEADER)
    if "," in text:
        return "csv"
    raise ValueError("not in a format that can be read here (swf, accounting, sacct, csv)")
