"""Slurm's commands: making their arguments and parsing their output. Nothing is run here.

squeue prints rows of fixed widths in bytes, and we read them by position. So a newline in a comment cannot forge a row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cosched_adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.programs import meaning
from cosched_adapters.slurm.comments import MAX_COMMENT

_JOB_ID = re.compile(r"[1-9][0-9]{0,9}")
_TASK_OF = re.compile(rf"{_JOB_ID.pattern}_[0-9]{{1,9}}")
_DURATION = re.compile(r"(?:([0-9]+)-)?(?:([0-9]+):)?([0-9]+):([0-9]+)")
_DIGITS = re.compile(r"[0-9]+")
_WIDTHS = {  # fields of squeue --Format, with their widths; longer values are cut off
    "JobID": 11,
    "ArrayJobID": 11,
    "ArrayTaskID": 8,
    "HetJobID": 11,
    "State": 16,
    "Reason": 24,
    "NumNodes": 8,
    "SubmitTime": 12,
    "EligibleTime": 12,
    "StartTime": 12,
    "EndTime": 12,
    "exit_code": 8,
    "RestartCnt": 8,
    "Requeue": 2,
    "BatchFlag": 2,
    "UserName": 64,
    "Account": 64,
    "PriorityLong": 11,
    "Partition": 32,
}
_DETAILS = {"TimeLimit": 16, "Name": 64, "Comment": MAX_COMMENT + 16}
_SQUEUE = ("squeue", "-h", "-a", "-t", "all", "--noconvert")
_NONE = ("N/A", "0", "")
_NO_ACCOUNT = ("(null)", "N/A")
_SHOWN = 200  # characters of a command's message that an error repeats


class NotPendingError(ManagerError):
    """The job has nodes at present, so its start time cannot be changed."""


_MEANINGS = {  # of what the message of a failed command contains
    UnknownJobError: ("Invalid job id", "already finished", "already completing or completed"),
    NotPendingError: ("no longer pending",),
    UnavailableError: (
        "Unable to contact", "Unexpected message received", "Socket timed out", "Zero Bytes were transmitted",
        "Connection refused", "in standby mode",
        "Connection reset by peer",  # it was killed during the call
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as squeue shows it. Times are in seconds since 1970; None: unknown."""

    job_id: str
    array: str | None  # the array job of this job or task
    task: int | None  # the number of this task of it; None: there are several, which Slurm has not parted yet
    het: str | None  # the heterogeneous job of this component
    state: str  # PENDING, CONFIGURING, RUNNING, COMPLETED, ...
    reason: str  # why it waits: BeginTime, Cleaning, Resources, ...; "None" if Slurm has not looked at it yet
    nodes: int
    submitted_at: int  # submitted or requeued
    eligible_at: int | None
    started_at: int | None
    ended_at: int | None
    exit_code: int  # of the job's first process
    signal: int  # the signal that ended it; 0: none
    restarts: int
    can_yield: bool  # Slurm requeues it when its hook fails; other jobs are cancelled then
    user: str
    account: str = ""  # empty: none
    priority: int = 0
    partitions: str = ""  # in which it may run, separated by commas
    comment: str | None = None  # None: not queried, nor are the following fields
    name: str = ""
    time_limit: int = 0  # seconds; 0: none
    others: tuple[str, ...] = ()  # the comments of the other components of a heterogeneous job, if it is the first one

    @property
    def is_part(self) -> bool:
        """Whether it is a component of a heterogeneous job, and not the first one, which stands for all."""
        return self.het not in (None, self.job_id)


def checked(job_id: str) -> str:
    """Return the id, or ARRAY_TASK, if it may stand in a command. UnknownJobError: Slurm has no such ids."""
    if not _JOB_ID.fullmatch(job_id) and not _TASK_OF.fullmatch(job_id):
        raise UnknownJobError(f"no job of Slurm is named {job_id[:64]!a}")
    return job_id


# Arguments


def queue() -> list[str]:
    """Show all jobs that Slurm has not forgotten, without their comments; for `each_row`."""
    return [*_SQUEUE, "-O", _format(_WIDTHS)]


def details(job_ids: Iterable[str]) -> list[str]:
    """Show some jobs, with their comments, names and time limits; for `each_row`. UnknownJobError."""
    return [*_SQUEUE, "-j", ",".join(map(checked, job_ids)), "-O", _format(_WIDTHS | _DETAILS)]


def each_task(arrays: Iterable[str], *, comments: bool = False) -> list[str]:
    """Show each task of these arrays in a row; for `each_row` and `parted`. UnknownJobError."""
    ids = ",".join(map(checked, arrays))
    return [*_SQUEUE, "-r", "-j", ids, "-O", _format(_WIDTHS | _DETAILS if comments else _WIDTHS)]


def set_start(job_id: str, delay: int) -> list[str]:
    """Let a pending job start in `delay` seconds at the earliest; Slurm schedules soon after. UnknownJobError."""
    return update(job_id, f"starttime=now+{delay}" if delay > 0 else "starttime=now")


def update(job_id: str, change: str) -> list[str]:
    """Change a field of a job, FIELD=VALUE. UnknownJobError."""
    return ["scontrol", "update", f"jobid={checked(job_id)}", change]


def submit(options: Sequence[str], script: str | None, arguments: Sequence[str]) -> list[str]:
    """Submit a script's file (None: the script comes on standard input); for `parse_submitted`.

    `options` are sbatch's, and override those in the script.
    """
    file = [] if script is None and not arguments else ["--", script or "/dev/stdin", *arguments]
    return ["sbatch", "--parsable", *options, *file]


def _format(widths: dict[str, int]) -> str:
    return ",".join(f"{field}:{width}" for field, width in widths.items())


# What they print


def each_row(printed: bytes, *, comments: bool = False) -> Iterator[JobRow]:
    """Yield the jobs that `queue` or (with comments) `details` shows; a long queue takes a while. ManagerError."""
    widths = _WIDTHS | _DETAILS if comments else _WIDTHS
    size = sum(widths.values()) + 1
    if len(printed) % size:
        raise ManagerError(f"squeue printed {len(printed)} bytes, not rows of {size}")
    for start in range(0, len(printed), size):
        yield _row(printed[start : start + size], widths)


def whole(rows: list[JobRow]) -> list[JobRow]:
    """Return these rows; that of the first component of a heterogeneous job stands for all of them.

    It has their nodes, and can yield if all can. Slurm chooses all at once, and launches nothing as long as the hook of
    one of them waits; a command for the first one's id is for all of them.
    """
    parts: dict[str, list[JobRow]] = {}
    for row in rows:
        if row.het is not None and row.is_part:
            parts.setdefault(row.het, []).append(row)
    return [_with(row, parts[row.job_id]) if row.job_id in parts else row for row in rows] if parts else rows


def _with(row: JobRow, parts: Sequence[JobRow]) -> JobRow:
    return replace(
        row,
        nodes=row.nodes + sum(part.nodes for part in parts),
        can_yield=row.can_yield and all(part.can_yield for part in parts),
        others=tuple(part.comment or "" for part in parts),
    )


def parted(rows: Iterable[JobRow]) -> list[JobRow]:
    """Return these rows of `each_task`; tasks that are one job, since Slurm has not parted them, have one row."""
    rows = list(rows)
    tasks = Counter(row.job_id for row in rows)
    return list({row.job_id: replace(row, task=None) if tasks[row.job_id] > 1 else row for row in rows}.values())


def parse_config(printed: bytes) -> dict[str, str]:
    """Parse the configuration's parameters by name; `parameters` and `versions` read them."""
    pairs = (line.partition(" = ") for line in _text(printed).splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def parse_user(value: str) -> int:
    """Return the user id of `name(id)`, the form of SlurmUser in the configuration. ManagerError."""
    match = re.fullmatch(r".*\(([0-9]{1,10})\)", value)
    if match is None:
        raise ManagerError(f"scontrol show config has the SlurmUser {value[:_SHOWN]!a}, not name(id)")
    return int(match[1])


def parse_submitted(printed: bytes) -> str:
    """Return the id of the submitted job. ManagerError."""
    job_id = _text(printed).strip().partition(";")[0]
    if not _JOB_ID.fullmatch(job_id):
        raise ManagerError(f"sbatch printed {job_id[:_SHOWN]!a}, not a job's id")
    return job_id


def parse_said(said: bytes) -> list[str]:
    """Return sbatch's lines for its user on standard error, without the prefix `sbatch: error:`."""
    lines = (re.sub(r"^sbatch: (error: |fatal: )?", "", line).strip() for line in _text(said).splitlines())
    return [line for line in lines if line]


def failure(command: str, code: int, said: bytes) -> ManagerError:
    """Return the error for a failed command, from its exit code and its standard error."""
    text = _text(said)
    line = next((line.strip() for line in text.splitlines() if line.strip()), f"exit {code}")
    return meaning(text, _MEANINGS)(f"{command}: {ascii(line[:_SHOWN])[1:-1]}")


def _row(row: bytes, widths: dict[str, int]) -> JobRow:
    fields: dict[str, str] = {}
    start = 0
    for field, width in widths.items():
        fields[field] = _text(row[start : start + width]).rstrip(" ")
        start += width
    if row[start:] != b"\n" or not _JOB_ID.fullmatch(fields["JobID"]):
        raise ManagerError("squeue printed a row that is not as wide as it should be")
    return _job_row(fields)


def _job_row(fields: dict[str, str]) -> JobRow:
    code, signal = _ended_with(fields["exit_code"])
    return JobRow(
        job_id=fields["JobID"],
        array=None if fields["ArrayTaskID"] in ("N/A", "") else fields["ArrayJobID"],
        task=int(fields["ArrayTaskID"]) if fields["ArrayTaskID"].isdecimal() else None,
        het=None if fields["HetJobID"] in _NONE else fields["HetJobID"],
        state=fields["State"],
        reason=fields["Reason"],
        nodes=number(fields["NumNodes"]),
        submitted_at=number(fields["SubmitTime"]),
        eligible_at=_time(fields["EligibleTime"]),
        started_at=_time(fields["StartTime"]),
        ended_at=_time(fields["EndTime"]),
        exit_code=code,
        signal=signal,
        restarts=number(fields["RestartCnt"]),
        can_yield=fields["Requeue"] == "1" and fields["BatchFlag"] not in _NONE,  # BatchFlag counts failed launches
        user=fields["UserName"],
        account="" if fields["Account"] in _NO_ACCOUNT else fields["Account"],
        priority=number(fields["PriorityLong"]),
        partitions=fields["Partition"],
        comment="" if fields.get("Comment") == "(null)" else fields.get("Comment"),
        name=fields.get("Name", ""),
        time_limit=seconds(fields.get("TimeLimit", "")),
    )


def _ended_with(text: str) -> tuple[int, int]:
    """Parse exit code and signal from `CODE:SIGNAL` (squeue since 23.02) or from the number that wait(2) gives."""
    code, colon, signal = text.partition(":")
    status = number(code)
    return (status, number(signal)) if colon else (status >> 8, status & 0x7F)


def number(text: str) -> int:
    """Return the number that a text begins with, 0 if none: one odd job must not make all others unreadable."""
    match = _DIGITS.match(text)
    return int(match[0]) if match else 0


def seconds(text: str) -> int:
    """Parse D-HH:MM:SS, whose left parts may be missing; 0 for UNLIMITED, INVALID, Partition_Limit."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _time(text: str) -> int | None:
    return number(text) or None  # N/A, NONE, Unknown


def _text(printed: bytes) -> str:
    return printed.decode("utf-8", "surrogateescape")
