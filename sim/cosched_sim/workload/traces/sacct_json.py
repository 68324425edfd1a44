"""The jobs of `sacct --json` as rows of the columns that `sacct --parsable2` has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cosched.words.errors import InputError

_NO_VALUE = 2**32 - 16  # from here on numbers of 32 bits say that there is no value, or no limit

JSON_COLUMNS = ("JobIDRaw", "Submit", "Start", "End", "ElapsedRaw", "TimelimitRaw", "NNodes", "ReqNodes", "State",
                "User", "Partition")  # fmt: skip


def looks_like_json(first_line: str) -> bool:
    """Return whether a log that begins so is JSON."""
    return first_line.lstrip()[:1] == "{"


def json_rows(lines: Iterable[str], source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each job in the file, from 1, and its row; InputError."""
    try:
        found = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        raise InputError(source, None, f"not JSON: {error}") from None
    jobs = found.get("jobs")
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise InputError(source, None, 'JSON, but not of `sacct --json`: it has no list "jobs"')
    for number, job in enumerate(jobs, 1):
        yield number, _row(job)


def _row(job: Mapping[str, Any]) -> list[str]:
    times = [_text(_at(job, "time", name)) for name in ("submission", "start", "end", "elapsed", "limit")]
    submit, start, end = ("" if time == "0" else time for time in times[:3])  # 0: not yet
    state = _at(job, "state", "current")
    return [
        _text(job.get("job_id")),
        submit,
        start,
        end,
        *times[3:],
        _text(job.get("allocation_nodes")),
        _text(_nodes(_at(job, "tres", "requested"))),
        str(state[0] if isinstance(state, list) and state else state or ""),
        str(job.get("user") or _at(job, "association", "user") or ""),
        str(job.get("partition") or ""),
    ]


def _at(value: Any, *keys: str) -> Any:
    """Return what stands under these keys, one below the other; None if nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    """Return a number, which newer versions write as an object; empty if it is not set or infinite."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    nothing = value is None or (isinstance(value, int) and value >= _NO_VALUE)
    return "" if nothing else str(value)


def _nodes(resources: Any) -> Any:
    """Return the number of nodes among some trackable resources."""
    if not isinstance(resources, list):
        return None
    return next((_at(each, "count") for each in resources if _at(each, "type") == "node"), None)
