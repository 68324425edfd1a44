"""Reads PBS and Cobalt accounting logs: `MM/DD/YYYY HH:MM:SS;TYPE;JOBID;key=value key=value ...`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cosched.errors import InputError
from cosched.validation.text import shown
from cosched.workload.jobs import UNKNOWN, TraceLog
from cosched.workload.traces.builder import LogBuilder
from cosched.workload.traces.opening import Block, numbered
from cosched.workload.traces.values import duration, known, seconds, whole

LINE_START = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?;", re.ASCII)
_LINE = re.compile(LINE_START.pattern + r"([A-Za-z]{1,2});([^;]*);?(.*)", re.ASCII | re.DOTALL)
_FIELD = re.compile(r'([^\s=]+)=("(?:[^"\\]|\\.)*"|\S*)')

# Queued, started, ended, deleted, aborted. Other records (reservations, tasks, holds, licences) are ignored.
_KINDS = frozenset("QSEDA")
_COMPLETED, _FAILED, _CANCELLED = 1, 0, 5


def read_accounting(blocks: Iterable[Block], source: str) -> TraceLog:
    """Read an accounting log from its blocks of lines; `source` names it in messages.

    Submission is ctime, else qtime, else etime, else the stamp of the Q record (taken as UTC); run is end -
    start, else resources_used.walltime. Sizes are nodes (Resource_List.nodect, else the nodes of .nodes or
    .select) if any job states them, else processors (.ncpus): `header["Unit"]` says which. Times count from the
    earliest submission, `header["UnixStartTime"]`. A job without an end has no run time. There is one row a job,
    in the order of first mention. InputError names the line of a record that cannot be read.
    """
    jobs = list(_collect(_records(blocks, source)))
    builder = LogBuilder(source)
    by_nodes = any(job.numbers.get("nodes", 0) > 0 for job in jobs)
    for job in jobs:
        size = job.numbers.get("nodes" if by_nodes else "procs", UNKNOWN)
        builder.add(
            job.line,
            job.job_id,
            submit=job.submit,
            run=job.run,
            wait=job.wait,
            allocated=size if job.start != UNKNOWN else UNKNOWN,
            requested_procs=size,
            requested_time=job.numbers.get("requested_time", UNKNOWN),
            status=job.status,
            user=job.user,
        )
    start = _first_submission(jobs)
    header = {"UnixStartTime": str(start), "Unit": "nodes" if by_nodes else "processors"}
    return builder.build(header, start)


@dataclass(slots=True)
class _Record:
    line: int
    kind: str
    job_id: str
    stamp: int
    numbers: dict[str, int]
    user: str


@dataclass(slots=True)
class _Job:
    """The records of one job, merged; a later record overrides an earlier one."""

    line: int
    job_id: str
    stamp: int
    numbers: dict[str, int] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    user: str = ""

    def update(self, record: _Record) -> None:
        self.numbers.update(record.numbers)
        self.kinds.add(record.kind)
        self.user = record.user or self.user

    @property
    def stated_submit(self) -> int:
        """The submit time that a key states; PBS writes 0 for an unknown time."""
        times = (self.numbers.get(key, 0) for key in ("ctime", "qtime", "etime"))
        return next((time for time in times if time > 0), UNKNOWN)

    @property
    def submit(self) -> int:
        return self.stated_submit if self.stated_submit != UNKNOWN else self.stamp

    @property
    def start(self) -> int:
        return self.numbers.get("start", UNKNOWN)

    @property
    def wait(self) -> int:
        stated = self.start != UNKNOWN and self.stated_submit != UNKNOWN
        return self.start - self.stated_submit if stated else UNKNOWN

    @property
    def run(self) -> int:
        if "E" not in self.kinds:
            return UNKNOWN
        if self.start != UNKNOWN and "end" in self.numbers:
            return self.numbers["end"] - self.start
        return self.numbers.get("used", UNKNOWN)

    @property
    def status(self) -> int:
        if "E" not in self.kinds:
            return _CANCELLED if self.kinds & {"D", "A"} else UNKNOWN
        if self.numbers.get("exit") == 0:
            return _COMPLETED
        if "D" in self.kinds:
            return _CANCELLED
        return _FAILED if "exit" in self.numbers else UNKNOWN


def _collect(records: Iterable[_Record]) -> Iterator[_Job]:
    """Merge the records into jobs, in the order of their first records."""
    jobs: list[_Job] = []
    latest: dict[str, _Job] = {}
    for record in records:
        job = latest.get(record.job_id)
        # Job numbers are reused one day: a job that is queued after its end is another job.
        if job is None or (record.kind == "Q" and "E" in job.kinds):
            job = latest[record.job_id] = _Job(record.line, record.job_id, record.stamp)
            jobs.append(job)
        job.update(record)
    yield from jobs


def _first_submission(jobs: list[_Job]) -> int:
    """Return the time to count from. Stamps are local time, so they are used only if no job states its submission."""
    stated = [job.stated_submit for job in jobs if job.stated_submit != UNKNOWN]
    return min(stated or [job.stamp for job in jobs], default=0)


def _records(blocks: Iterable[Block], source: str) -> Iterator[_Record]:
    for line, text in numbered(blocks):
        match = _LINE.fullmatch(text.strip())
        if not match:
            raise InputError(source, line, f"{shown(text)} is not DATE TIME;TYPE;ID;key=value ...")
        stamp, kind, job_id, message = match.groups()
        if kind in _KINDS:
            try:
                numbers, user = _fields(message)
                yield _Record(line, kind, job_id, _stamp(stamp), numbers, user)
            except ValueError as error:
                raise InputError(source, line, str(error)) from None


def _stamp(text: str) -> int:
    try:
        return int(datetime.strptime(text, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise ValueError(f"{shown(text)} is not a time") from None


def _node_count(text: str) -> int:
    """Count the nodes of '4:ppn=8+2:ppn=4', 'host1+host2' or '3'."""
    counts = (part.split(":")[0] for part in text.split("+"))
    return sum(whole(count) if count.isdecimal() else 1 for count in counts)


# By key in the log: our name, and the parser of its value. If two keys have one name, the later one here wins.
_KEYS: dict[str, tuple[str, Callable[[str], int]]] = {
    "ctime": ("ctime", seconds),
    "qtime": ("qtime", seconds),
    "etime": ("etime", seconds),
    "start": ("start", seconds),
    "end": ("end", seconds),
    "Exit_status": ("exit", whole),
    "resources_used.walltime": ("used", duration),
    "Resource_List.walltime": ("requested_time", duration),
    "Resource_List.ncpus": ("procs", whole),
    "Resource_List.select": ("nodes", _node_count),
    "Resource_List.nodes": ("nodes", _node_count),
    "Resource_List.nodect": ("nodes", whole),
}


def _fields(message: str) -> tuple[dict[str, int], str]:
    """Return the numbers that we need, by our names, and the user."""
    fields = dict(_FIELD.findall(message))
    numbers = {}
    for key, (name, parse) in _KEYS.items():
        text = fields.get(key, "").strip('"')
        if known(text):
            try:
                numbers[name] = parse(text)
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
    return numbers, fields.get("user", "").strip('"')
