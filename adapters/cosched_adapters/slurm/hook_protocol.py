"""The lines that Slurm's hooks and the service exchange over a Unix stream socket.

See `hook_lines` for the form of a line.

    prolog -> service    ready  job nodes restarts uid comment user name nodelist [array] [het] [batch] [farewell]
    service -> prolog    parked                 received: wait
                         start [at]             exit 0, at that instant of CLOCK_REALTIME (SECONDS.NANOSECONDS)
                         yield                  exit 1
    prolog -> service    waiting                now and then while parked; answered by `parked`
                         starting  job restarts it exits 0 now; not answered. A hook with `farewell` in its `ready`
                                                that hangs up before it has sent this or received `yield` was
                                                killed. Also sent over a connection of its own
    jobcomp -> service   ended  job state exit submitted start end [array] [het]       not answered
    gate -> service      gate  job [step] [finding]
    service -> gate      open [at] [COSCHED_...]    variables for the task, if it asks for them (finding=1)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cosched_adapters.hook_lines import Fields, LineError

_JOB_ID = re.compile(r"[1-9][0-9]{0,9}")
_NUMBER = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True)
class Offer:
    """Slurm has chosen a job and its nodes; the job's hook waits for an answer.

    The texts are Slurm's, with bytes that are not UTF-8 as surrogates ("surrogateescape").
    """

    job_id: str
    nodes: int
    nodelist: str
    user: str
    uid: int
    comment: str
    name: str
    restarts: int  # how often it was requeued
    batch: bool | None  # None: the hook cannot tell
    array: str | None  # "12_3": task 3 of array job 12
    het: str | None  # "12+1": component 1 of heterogeneous job 12
    farewell: bool = False  # the hook says `starting` before it lets the job start: without that, it was killed

    @property
    def first(self) -> str:
        """The first component of the heterogeneous job, which stands for all; of other jobs the job itself."""
        return self.job_id if self.het is None else self.het.partition("+")[0]


@dataclass(frozen=True)
class HookEnd:
    """A job has ended, was requeued (`state` PENDING), or has another size (RESIZING), as Slurm tells jobcomp/script.

    Times: seconds since 1970.
    """

    job_id: str
    state: str  # Slurm's name: COMPLETED, FAILED, CANCELLED, TIMEOUT, NODE_FAIL, PENDING, ...
    exit_code: str  # "status:signal"
    submitted_at: int | None
    started_at: int | None
    ended_at: int | None
    array: str | None
    het: str | None


def offer_from(fields: Fields) -> Offer:
    """Parse the fields of `ready`. LineError."""
    return Offer(
        job_id=job_id_from(fields),
        nodes=_number(fields, "nodes"),
        nodelist=fields.get("nodelist", ""),
        user=fields.get("user", ""),
        uid=_number(fields, "uid"),
        comment=fields.get("comment", ""),
        name=fields.get("name", ""),
        restarts=_number(fields, "restarts"),
        batch=True if fields.get("batch") == "1" else None,
        array=fields.get("array"),
        het=fields.get("het"),
        farewell=fields.get("farewell") == "1",
    )


def turn_from(fields: Fields) -> tuple[str, int]:
    """Parse the fields of `starting`: the job, and how often it was requeued. LineError."""
    return job_id_from(fields), _number(fields, "restarts")


def end_from(fields: Fields) -> HookEnd:
    """Parse the fields of `ended`. LineError."""
    return HookEnd(
        job_id=job_id_from(fields),
        state=fields.get("state", ""),
        exit_code=fields.get("exit", ""),
        submitted_at=_time(fields, "submitted"),
        started_at=_time(fields, "start"),
        ended_at=_time(fields, "end"),
        array=fields.get("array"),
        het=fields.get("het"),
    )


def job_id_from(fields: Fields) -> str:
    """Return the job that a line is about. LineError."""
    job = fields.get("job", "")
    if not _JOB_ID.fullmatch(job):
        raise LineError("no job")
    return job


def instant(at: float) -> dict[str, str]:
    """Return the field `at` for an instant, in seconds since 1970. ValueError if it is not an instant."""
    if not 0 <= at < 1e11:  # false for a NaN too
        raise ValueError(f"not an instant: {at}")
    return {"at": f"{at:.9f}"}


def _number(fields: Fields, key: str) -> int:
    if not _NUMBER.fullmatch(fields.get(key, "")):
        raise LineError(f"{key} is not a number")
    return int(fields[key])


def _time(fields: Fields, key: str) -> int | None:
    return int(fields[key]) or None if _NUMBER.fullmatch(fields.get(key, "")) else None
