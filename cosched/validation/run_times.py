"""Files of run times: CSV with the columns job_class, resource, seconds; and files of the runs that were learned."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

from cosched.core.scheduling.run_times import LONGEST, Pair
from cosched.validation.text import shown
from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of

HEADER = ["job_class", "resource", "seconds"]
OF_RUNS = ["job_class", "resource", "owner", "queue", "count", "total", "squares", "histogram"]  # as in the database


def read_run_times(path: str) -> Iterator[tuple[int, Pair, int]]:
    """Yield line, job class with resource, and seconds; InputError names the line that is wrong."""
    lines = _lines(path)
    line, header = next(lines, (1, ""))
    if [cell.strip() for cell in header.split(",")] != HEADER:
        raise InputError(path, line, f"its first line must be {','.join(HEADER)}")
    known = set[Pair]()
    for line, text in lines:
        try:
            pair, seconds = _row(text)
        except ValueError as error:
            raise InputError(path, line, str(error)) from None
        if pair in known:
            raise InputError(path, line, f"the time of {pair.job_class} on {pair.resource} is stated twice")
        known.add(pair)
        yield line, pair, seconds
    if not known:
        raise InputError(path, None, "states no time: no job could run")


def read_runs(path: str) -> list[dict[str, str]] | None:
    """Return the rows of a file of learned runs, unchecked but for their form; None: it is another file. InputError."""
    lines = _lines(path)
    if [cell.strip() for cell in next(lines, (1, ""))[1].split(",")] != OF_RUNS:
        return None
    rows = []
    for line, text in lines:
        cells = next(csv.reader([text]))
        try:
            rows.append(dict(zip(OF_RUNS, cells, strict=True)))
            wrong = not all(map(_is_count, (cells[4], cells[5], cells[6], *json.loads(cells[7]).values())))
        except (ValueError, AttributeError):
            wrong = True
        if wrong:
            raise InputError(path, line, f"is not a row of the table runs: {','.join(OF_RUNS)}")
    return rows


def _is_count(value: object) -> bool:
    return str(value).isascii() and str(value).isdecimal()


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, by their numbers."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().splitlines()
    except UnicodeDecodeError:
        raise InputError(path, None, "is not text in UTF-8") from None
    except OSError as error:
        raise InputError(path, None, f"cannot be read: {reason_of(error, path)}") from None
    return ((line, text) for line, text in enumerate(lines, 1) if text.strip())


def _row(text: str) -> tuple[Pair, int]:
    try:
        cells = [cell.strip() for cell in next(csv.reader([text], strict=True))]
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from None
    if len(cells) != len(HEADER):
        raise ValueError(f"{len(cells)} columns, but there are {len(HEADER)}: {', '.join(HEADER)}")
    job_class, resource, seconds = cells
    for name, cell in (("job class", job_class), ("resource", resource)):
        if not cell:
            raise ValueError(f"the {name} is missing")
    if not (seconds.isascii() and seconds.isdecimal() and len(seconds) <= 10 and 1 <= int(seconds) <= LONGEST):
        reason = "leave the line out if the class cannot run there"
        raise ValueError(f"{shown(seconds)} is not a whole number of seconds from 1 to {LONGEST:,}; {reason}")
    return Pair(job_class, resource), int(seconds)


def written(times: Iterable[tuple[Pair, int]]) -> str:
    """Return the text of a file of run times."""
    return csv_text(HEADER, ((*pair, seconds) for pair, seconds in times))


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
