"""Tells the format of a job log from its first line."""

from __future__ import annotations

from collections.abc import Sequence

from cosched.words.errors import InputError
from cosched_sim.workload.log_options import LogOptions
from cosched_sim.workload.traces.accounting import LINE_START
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.opening import Block
from cosched_sim.workload.traces.sacct import SEPARATORS, header_separator, is_id_column
from cosched_sim.workload.traces.sacct_json import looks_like_json
from cosched_sim.workload.traces.swf import COLUMNS
from cosched_sim.workload.traces.table import NO_HEADER
from cosched_sim.workload.traces.values import is_number

_FEWEST = 3  # columns of a log


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
