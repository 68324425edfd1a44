"""Schedules in CSV files: the expected ones, cosched's, and those of other simulators."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from cosched.words.errors import InputError

JobKey = tuple[str, str]  # domain and job id
Results = Mapping[JobKey, Mapping[str, str]]  # the columns of a job's row

NUMBERS = ("start", "end", "ready", "holds", "yields", "held_node_seconds")
NEVER = -1  # instead of a time: it did not happen


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells of each row; InputError for a file that cannot be read or lacks one of `columns`."""
    source = str(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True, skipinitialspace=True)
            for name in columns:
                if name not in (reader.fieldnames or ()):
                    raise InputError(source, 1, f"no column {name!r}")
            for row in reader:
                if None in row or None in row.values():
                    raise InputError(source, reader.line_num, "not as many cells as the header has")
                yield reader.line_num, {name: cell.strip() for name, cell in row.items()}
    except OSError as error:
        raise InputError(source, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(source, None, "not a text file") from None
    except csv.Error as error:
        raise InputError(source, None, f"not CSV: {error}") from None


def read_results(path: Path, only_domain: str | None = None) -> Results:
    """Read the rows of a schedule by job, of `only_domain` if there is no column `domain`; InputError."""
    found: dict[JobKey, Mapping[str, str]] = {}
    columns = ("job_id", "start") if only_domain is not None else ("domain", "job_id", "start")
    for line, row in read_csv(path, columns):
        job = row.get("domain", only_domain or ""), row["job_id"]
        if job in found:
            raise InputError(str(path), line, f"{' job '.join(job)} occurs twice")
        for name in NUMBERS:
            if name in row and number(row[name]) is None:
                raise InputError(str(path), line, f"{name}: {row[name]!r} is not a number")
        found[job] = row
    return found


def number(text: str) -> Decimal | None:
    """Return a cell's value; NEVER for an empty or negative one, None if it is not a number."""
    try:
        value = Decimal(text or NEVER)
    except InvalidOperation:
        return None
    return max(value, Decimal(NEVER)) if value.is_finite() else None
