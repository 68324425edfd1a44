"""Reads PBS and Cobalt accounting logs: `MM/DD/YYYY HH:MM:SS;TYPE;JOBID;key=value key=value ...`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from cosched.validation.text import shown
from cosched.words.errors import InputError
from cosched.words.quantities import count
from cosched_sim.workload.jobs import UNKNOWN, TraceLog
from cosched_sim.workload.log_options import PLAIN, LogOptions, Runs
from cosched_sim.workload.traces.builder import LogBuilder
from cosched_sim.workload.traces.limits import NO_LIMIT
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.opening import Block, numbered
from cosched_sim.workload.traces.runs import each_counts, last_counts, run_id
from cosched_sim.workload.traces.values import duration, instants, known, seconds, whole

LINE_START = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?;", re.ASCII)
_LINE = re.compile(LINE_START.pattern + r"([A-Za-z]{1,2});([^;]*);?(.*)", re.ASCII | re.DOTALL)
_FIELD = re.compile(r'([^\s=]+)=("(?:[^"\\]|\\.)*"|\S*)')

# Queued, started, rerun, ended, deleted, aborted. Other records (reservations, tasks, holds, licences) are ignored.
_KINDS = frozenset("QSREDA")
_COMPLETED, _FAILED, _CANCELLED = 1, 0, 5
_ARRAY = "[]"  # in the id of an array; its subjobs have a number there
_VNODE_END = re.compile(r"[:\[]")
_OF_RUN = ("start", "end", "used", "exit", "hosts")
_MAY_BE_ZERO = frozenset({"used", "exit"})  # elsewhere PBS writes 0 for what is not known


def read_accounting(
    blocks: Iterable[Block], source: str, options: LogOptions = PLAIN, notes: Notes | None = None
) -> TraceLog:
    """Read an accounting log from its blocks of lines; `source` names it in messages.

    Submission is ctime, else qtime, else etime, else the stamp of the Q record (in the time zone of the options, else
    UTC); run is end - start, else resources_used.walltime. Sizes are nodes if any job states them: the hosts of
    exec_vnode or exec_host if these name all chunks, else Resource_List.nodect, else the nodes of .nodes or .select.
    Otherwise they are processors (.ncpus): `header["Unit"]` says which. Times count from the earliest submission,
    `header["UnixStartTime"]`. A job without an end has no run time. There is one row a job, in the order of first
    mention; with runs='all' one a run. Arrays are not jobs, their subjobs are. InputError names the line of a record
    that cannot be read.
    """
    notes = notes or Notes(source, options.skip_bad)
    jobs = _collect(_records(blocks, notes, options.zone or UTC), options.runs, notes)
    builder = LogBuilder(notes, options)
    by_nodes = any(job.nodes != UNKNOWN for job in jobs)
    unstated = NO_LIMIT if any("requested_time" in job.numbers for job in jobs) else UNKNOWN
    for job in jobs:
        size = job.nodes if by_nodes else job.numbers.get("procs", UNKNOWN)
        try:
            builder.add(
                job.line,
                job.job_id,
                submit=job.submit,
                run=job.run,
                wait=job.wait,
                allocated=size if job.start != UNKNOWN else UNKNOWN,
                requested_procs=size,
                requested_time=job.numbers.get("requested_time", unstated),
                status=job.status,
                user=job.user,
                partition=job.queue,
            )
        except InputError as error:
            notes.bad(error)
    start = _first_submission(jobs)
    header = {"UnixStartTime": str(start), "Unit": "nodes" if by_nodes else "processors"}
    if any(job.stated_submit == UNKNOWN for job in jobs):
        notes.local_times = options.timezone or "UTC"
        if options.timezone:
            header["TimeZoneString"] = options.timezone
    return builder.build(header, start)


@dataclass(slots=True)
class _Record:
    line: int
    kind: str
    job_id: str
    stamp: int
    numbers: dict[str, int]
    user: str
    queue: str


@dataclass(slots=True)
class _Job:
    """The records of one job, merged; a later record overrides an earlier one."""

    line: int
    job_id: str
    stamp: int
    numbers: dict[str, int] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    user: str = ""
    queue: str = ""
    earlier: tuple[_Job, ...] = ()  # its runs before it was requeued
    stands_alone: bool = True  # whether it is all there is of the job: else it was submitted when it was requeued

    def update(self, record: _Record) -> None:
        self.numbers.update(record.numbers)
        self.kinds.add(record.kind)
        self.user = record.user or self.user
        self.queue = record.queue or self.queue

    def rerun(self) -> _Job:
        """Return the job as it is requeued."""
        numbers = {name: number for name, number in self.numbers.items() if name not in _OF_RUN}
        runs = (*self.earlier, self)
        return _Job(self.line, self.job_id, self.stamp, numbers, user=self.user, queue=self.queue, earlier=runs)

    @property
    def nodes(self) -> int:
        return self.numbers.get("hosts", self.numbers.get("nodes", UNKNOWN))

    @property
    def last_run(self) -> _Job:
        return next((run for run in (self, *reversed(self.earlier)) if run.run > 0), self)

    def each_run(self) -> Iterator[_Job]:
        for number, run in enumerate(self.earlier, 1):
            yield replace(run, job_id=run_id(self.job_id, number), stands_alone=number == 1)
        yield replace(self, stands_alone=not self.earlier)

    @property
    def stated_submit(self) -> int:
        """The submit time that a key states."""
        keys = ("ctime", "qtime", "etime") if self.stands_alone else ("qtime", "etime", "ctime")
        return next((self.numbers[key] for key in keys if key in self.numbers), UNKNOWN)

    @property
    def submit(self) -> int:
        return self.stated_submit if self.stated_submit != UNKNOWN else self.stamp

    @property
    def start(self) -> int:
        if "start" not in self.numbers and {"end", "used"} <= self.numbers.keys():
            return self.numbers["end"] - self.numbers["used"]
        return self.numbers.get("start", UNKNOWN)

    @property
    def wait(self) -> int:
        stated = self.start != UNKNOWN and self.stated_submit != UNKNOWN
        return self.start - self.stated_submit if stated else UNKNOWN

    @property
    def run(self) -> int:
        if not self.kinds & {"E", "R"}:
            return UNKNOWN
        if 0 < self.numbers.get("start", 0) <= self.numbers.get("end", 0):
            return self.numbers["end"] - self.numbers["start"]
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


def _collect(records: Iterable[_Record], runs: Runs, notes: Notes) -> list[_Job]:
    """Merge the records into jobs, or runs of jobs, in the order of their first records."""
    jobs: list[_Job] = []
    places: dict[str, int] = {}
    arrays = set()
    for record in records:
        if _ARRAY in record.job_id:
            arrays.add(record.job_id)
            continue
        place = places.get(record.job_id)
        # Job numbers are reused one day: a job that is queued after its end is another job.
        if place is None or (record.kind == "Q" and "E" in jobs[place].kinds):
            place = places[record.job_id] = len(jobs)
            jobs.append(_Job(record.line, record.job_id, record.stamp))
        jobs[place].update(record)
        if record.kind == "R":
            jobs[place] = jobs[place].rerun()
    if arrays:
        notes.say(f"left out {count(len(arrays), 'array')}: the subjobs are the jobs")
    if (earlier := sum(len(job.earlier) for job in jobs)) == 0:
        return jobs
    if runs == "all":
        notes.say(each_counts(earlier))
        return [run for job in jobs for run in job.each_run()]
    notes.say(last_counts(earlier))
    return [job.last_run for job in jobs]


def _first_submission(jobs: list[_Job]) -> int:
    """Return the time to count from. Stamps are local time, so they are used only if no job states its submission."""
    stated = [job.stated_submit for job in jobs if job.stated_submit != UNKNOWN]
    return min(stated or [job.stamp for job in jobs], default=0)


def _records(blocks: Iterable[Block], notes: Notes, zone: tzinfo) -> Iterator[_Record]:
    for line, text in numbered(blocks):
        try:
            record = _record(line, text, zone)
        except ValueError as error:
            notes.bad(InputError(notes.source, line, str(error)))
            continue
        if record is not None:
            yield record


def _record(line: int, text: str, zone: tzinfo) -> _Record | None:
    """Return the record of a line, None if it is of no use here; ValueError."""
    match = _LINE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{shown(text)} is not DATE TIME;TYPE;ID;key=value ...")
    stamp, kind, job_id, message = match.groups()
    if kind not in _KINDS:
        return None
    fields = dict(_FIELD.findall(message))
    user, queue = (fields.get(key, "").strip('"') for key in ("user", "queue"))
    return _Record(line, kind, job_id, _stamp(stamp, zone), _numbers(fields), user, queue)


def _stamp(text: str, zone: tzinfo) -> int:
    try:
        return instants(f"{text[6:10]}-{text[:2]}-{text[3:5]}T{text[11:]}", zone)[0]
    except ValueError:
        raise ValueError(f"{shown(text)} is not a time") from None


def _node_count(text: str) -> int:
    """Count the nodes of '4:ppn=8+2:ppn=4', 'host1+host2' or '3'."""
    counts = (part.split(":")[0] for part in text.split("+"))
    return sum(whole(count) if count.isdecimal() else 1 for count in counts)


def _hosts(fields: dict[str, str], chunks: int) -> int:
    """Count the hosts that a job of so many chunks ran on; UNKNOWN if the record does not name them all.

    '(n1:ncpus=4+n1[1]:ncpus=4)+(n2:ncpus=8)' is two chunks on two hosts, as n1[1] is a part of n1; 'n1/0*4+n1/1*4' is
    two on one. Cobalt writes ranges and blocks of nodes, which are not hosts.
    """
    vnodes, hosts = (fields.get(key, "").strip('"') for key in ("exec_vnode", "exec_host"))
    if known(vnodes) and vnodes.count("(") >= chunks:
        return len({_VNODE_END.split(part.lstrip("("), 1)[0] for part in vnodes.split("+")})
    if "/" in hosts and hosts.count("+") + 1 >= chunks:
        return len({part.split("/")[0] for part in hosts.split("+")})
    return UNKNOWN


# By key in the log: our name, and the parser of its value. If two keys have one name, the later one that says something
# here wins.
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


def _numbers(fields: dict[str, str]) -> dict[str, int]:
    """Return the numbers that we need, by our names."""
    numbers = {}
    for key, (name, parse) in _KEYS.items():
        text = fields.get(key, "").strip('"')
        if not known(text):
            continue
        try:
            value = parse(text)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
        if value > 0 or name in _MAY_BE_ZERO:
            numbers[name] = value
    if (hosts := _hosts(fields, numbers.get("nodes", 1))) > 0:
        numbers["hosts"] = hosts
    return numbers
