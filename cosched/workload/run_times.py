"""Files of run times: CSV with the columns job_class, resource, seconds. A pair that is not there cannot run there."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from cosched.core.scheduling.run_times import LONGEST, Pair
from cosched.errors import InputError

COLUMNS = ("job_class", "resource", "seconds")


def read_run_times(path: Path) -> dict[Pair, int]:
    """Return the seconds that jobs of a class are expected to run on a resource; InputError names the line."""
    source = str(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(source, None, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    rows = csv.DictReader(io.StringIO(text), strict=True, restkey="", restval="")
    found: dict[Pair, int] = {}
    try:
        if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
            raise InputError(source, 1, f"the column {missing[0]} is missing: {','.join(COLUMNS)}")
        for row in rows:
            pair, seconds = _read(row, source, rows.line_num)
            if pair in found:
                reason = f"the time of {pair.job_class} on {pair.resource} was stated before: leave one of them out"
                raise InputError(source, rows.line_num, reason)
            found[pair] = seconds
    except csv.Error as error:
        raise InputError(source, rows.line_num + 1, f"not CSV: {error}") from None
    if not found:
        raise InputError(source, None, "states no run time: add a line for each job class and resource")
    return found


def _read(row: Mapping[str, str], source: str, line: int) -> tuple[Pair, int]:
    if "" in row:
        raise InputError(source, line, "has more cells than the first line has columns")
    job_class, resource, seconds = (row[name].strip() for name in COLUMNS)
    for name, text in (("job_class", job_class), ("resource", resource)):
        if not text:
            raise InputError(source, line, f"column {name}: is empty")
    if not (seconds.isascii() and seconds.isdecimal() and 1 <= int(seconds) <= LONGEST):
        raise InputError(source, line, f"column seconds: {seconds!r} is no whole number of seconds from 1 on")
    return Pair(job_class, resource), int(seconds)


def written(times: Iterable[tuple[Pair, int]]) -> str:
    """Return the text of such a file."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows((*pair, seconds) for pair, seconds in times)
    return text.getvalue()
