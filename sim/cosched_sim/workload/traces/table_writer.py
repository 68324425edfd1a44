"""Writes a job log as CSV, with the columns that only some schedulers read."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping

import numpy as np

from cosched.schedulers.column import UNKNOWN, Column
from cosched_sim.workload.jobs import TraceLog, Workload
from cosched_sim.workload.traces.atomic import replacing
from cosched_sim.workload.traces.swf_writer import packed

ENDINGS = (".csv", ".csv.gz")


def write_table(jobs: TraceLog | Workload, path: str | os.PathLike[str], known: Mapping[str, Column]) -> None:
    """Write `jobs` as `read_table` reads them to `path`: gzip if it ends in '.gz'; unknown values are empty.

    `known`: how the text of a column is written, by its name; others are numbers. The file appears whole or not at all;
    OSError passes through.
    """
    columns = dict(_columns(jobs, known))
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    with replacing(path) as raw, packed(raw, os.fspath(path).endswith(".gz")) as stream:
        stream.write(text.getvalue().encode())


def _columns(jobs: TraceLog | Workload, known: Mapping[str, Column]) -> Iterator[tuple[str, list[str]]]:
    yield "job_id", jobs.job_id.astype(str).tolist()
    if isinstance(jobs, Workload):
        times = {"submit": jobs.submit, "run": jobs.run, "nodes": jobs.nodes, "requested": jobs.requested}
    else:
        size = np.where(jobs.allocated > 0, jobs.allocated, jobs.requested_procs)
        times = {
            "submit": jobs.submit,
            "run": jobs.run,
            "nodes" if jobs.header.get("Unit") == "nodes" else "procs": size,
            "requested": jobs.requested_time,
            "user": jobs.user,
            "wait": jobs.wait,
        }
    for name, values in {**times, **jobs.columns}.items():
        write = known[name].write if name in known else str
        yield name, ["" if value == UNKNOWN else write(value) for value in values.tolist()]
