"""Writes a job log or a workload in the Standard Workload Format, version 2.2."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

import numpy as np

from cosched_sim.workload.jobs import UNKNOWN, TraceLog, Workload
from cosched_sim.workload.traces.atomic import replacing

_ROWS_AT_ONCE = 16_384
_KEY = re.compile(r"[A-Za-z]\w*", re.ASCII)
_RENUMBERED = "the job ids of the source are not numbers; the jobs are numbered from 1 in file order"


def write_swf(jobs: TraceLog | Workload, path: str | os.PathLike[str], header: Mapping[str, str] | None = None) -> None:
    """Write `jobs` to `path`: gzip if it ends in '.gz', standard output if it is '-'.

    `header` are the `; Key: value` lines (None: those of the log); MaxJobs and MaxRecords are set here, as is Version
    if it is not given. Unknown values are -1. Job ids that are not numbers are replaced by 1, 2, ..., with a note in
    the header. The file appears whole or not at all; OSError passes through; ValueError for a bad header key.
    """
    given = (jobs.header if isinstance(jobs, TraceLog) else {}) if header is None else header
    lines = _lines(jobs, _header(jobs, given))
    if path == "-":
        sys.stdout.writelines(lines)
        sys.stdout.flush()
        return
    with replacing(path) as raw, packed(raw, os.fspath(path).endswith(".gz")) as stream:
        stream.writelines(text.encode() for text in lines)


def packed(raw: BinaryIO, wanted: bool) -> contextlib.AbstractContextManager[BinaryIO | gzip.GzipFile]:
    """Pack what is written to a stream, if that is wanted."""
    # Without name and time, so that the same jobs give the same bytes.
    return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if wanted else contextlib.nullcontext(raw)


def _header(jobs: TraceLog | Workload, given: Mapping[str, str]) -> dict[str, str]:
    count = str(len(jobs))
    header = {"Version": "2.2", **given, "MaxJobs": count, "MaxRecords": count}
    if jobs.job_id.dtype.kind != "i":
        header["Note"] = "\n".join(filter(None, [header.get("Note"), _RENUMBERED]))
    return header


def _lines(jobs: TraceLog | Workload, header: Mapping[str, str]) -> Iterator[str]:
    for key, value in header.items():
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} cannot be a key of an SWF header")
        yield from _header_lines(key, value)
    for start in range(0, len(jobs), _ROWS_AT_ONCE):
        yield "".join(_rows(jobs, slice(start, start + _ROWS_AT_ONCE)))


def _header_lines(key: str, value: str) -> Iterator[str]:
    first, *rest = value.split("\n")
    yield f"; {key}: {first}".rstrip() + "\n"
    for line in rest:
        # A line that begins with a blank continues the one before: see read_swf.
        yield (f";   {line.strip()}" if line.startswith(" ") else f"; {key}: {line}".rstrip()) + "\n"


def _rows(jobs: TraceLog | Workload, part: slice) -> Iterable[str]:
    submit, run = jobs.submit[part], jobs.run[part]
    unknown = np.full(len(submit), UNKNOWN, dtype=np.int64)
    if isinstance(jobs, Workload):
        wait, status, user = unknown, unknown, unknown
        allocated = requested = jobs.nodes[part]
        requested_time = jobs.requested[part]
    else:
        wait, status, user = jobs.wait[part], jobs.status[part], jobs.user[part]
        allocated, requested = jobs.allocated[part], jobs.requested_procs[part]
        requested_time = jobs.requested_time[part]
    ids = (jobs.job_id if jobs.job_id.dtype.kind == "i" else np.arange(1, len(jobs) + 1))[part]
    columns = (ids, submit, wait, run, allocated, requested, requested_time, status, user)
    row = "%d %d %d %d %d -1 -1 %d %d -1 %d %d -1 -1 -1 -1 -1 -1\n"
    return map(row.__mod__, zip(*(column.tolist() for column in columns), strict=True))
