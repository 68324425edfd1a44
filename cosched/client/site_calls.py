"""What clients ask about the site of a domain, and how long jobs run there. See `calls`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from cosched.client.calls import Call, enums, request_id
from cosched.client.run_times import RUN_TIMES_BY, RunTime
from cosched.v1 import run_times_pb2


def run_times(by: str = "pair") -> Call[list[RunTime]]:
    """Return how long jobs have run, by `pair` of job class and resource, `class`, `resource`, or `user`."""
    [chosen] = enums([by], RUN_TIMES_BY, "RUN_TIMES_BY_")
    request = run_times_pb2.ListRunTimesRequest(by=chosen)
    return Call("ListRunTimes", request, lambda answer: list(map(RunTime, answer.run_times)))


def correct_run_times(
    corrections: Mapping[tuple[str, str], int | None], runs: Iterable[Mapping[str, str]] = ()
) -> Call[None]:
    """State run times in seconds, by job class and resource, until runs complete; None: forget what was learned.

    The runs so far count no more. `runs`: rows of the table `runs` of `site`, perhaps of another domain; each takes the
    place of what is known of its job class, resource, owner and queue. For operators.
    """
    request = run_times_pb2.CorrectRunTimesRequest(request_id=request_id())
    for (job_class, resource), seconds in corrections.items():
        correction = request.corrections.add(job_class=job_class, resource=resource)
        if seconds is not None:
            correction.stated.seconds = seconds
    for row in runs:
        histogram = {int(value): times for value, times in json.loads(row["histogram"]).items()}
        same = {name: row[name] for name in ("job_class", "resource", "queue", "squares")}
        request.runs.add(**same, user=row["owner"], histogram=histogram, total=int(row["total"]))
    return Call("CorrectRunTimes", request, lambda _: None)


def site() -> Call[dict[str, list[dict[str, str]]]]:
    """Return the site of a domain whose machines are not alike, and what was learned of it, as its database has it.

    By the name of each table its rows, by the names of its columns, as text; empty: no value.
    """
    return Call("DescribeSite", run_times_pb2.DescribeSiteRequest(), lambda answer: dict(map(_rows, answer.tables)))


def _rows(table: run_times_pb2.SiteTable) -> tuple[str, list[dict[str, str]]]:
    return table.name, [dict(zip(table.columns, row.cells, strict=True)) for row in table.rows]
