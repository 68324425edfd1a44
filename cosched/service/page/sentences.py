"""Why a job is where it is, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cosched.client import Job, Mate, Member
from cosched.core.job import JobState
from cosched.core.story import Why
from cosched.service.domain import story
from cosched.service.page.words import ago, count, span, until
from cosched.service.store import JobRecord
from cosched.v1 import coscheduling_pb2 as wire
from cosched.words.reasons import STARTING, meaning_of

STATES = {
    "queued": "queued", "ready": "ready", "holding": "holds", "starting": "starts", "running": "runs",
    "completed": "completed", "failed": "failed", "cancelled": "cancelled",
}  # fmt: skip
MATES = {"queuing": "queued", "holding": "holds", "running": "runs", "unsubmitted": "not submitted"}
_MATE = {
    "queuing": "waits in its queue",
    "holding": "holds its nodes and waits",
    "running": "runs already",
    "ended": "has ended",
    "cancelled": "was cancelled",
    "failed": "has failed",
    "unsubmitted": "is not submitted yet",
    "unknown": "is not known there",
}
UNTOLD = '{peer} tells you no more of its jobs: show = "all" in its [page] would fill their lanes here'
IN_QUEUE = "it waits for its turn in the queue"
_ACTIVE = {
    "queued": _MATE["queuing"], "ready": "is ready", "holding": _MATE["holding"], "starting": "is starting",
    "running": "still runs",
}  # fmt: skip
HOLDS, MATE_HOLDS, HAVE_SLOT = (
    "hold{s} nodes for jobs of {peer}",
    "{be} waited for by jobs that hold nodes of {peer}",
    "{has} slots with jobs of {peer}",
)
NOT_THERE, OTHER = "wait{s} for jobs that {peer} has not got yet", "wait{s} for jobs of {peer}"
_BY_STATUS: dict[int, str] = {wire.MATE_STATUS_HOLDING: MATE_HOLDS, wire.MATE_STATUS_UNSUBMITTED: NOT_THERE}
ORDER = (HOLDS, MATE_HOLDS, HAVE_SLOT, NOT_THERE, OTHER)
_SHOWN = ("", story.WAITS_IN_QUEUE, story.MATE_HOLDS, Why.MATE_QUEUING, Why.MATE_UNSUBMITTED)  # by the lanes


def kind_of_wait(record: JobRecord) -> str:
    """Return how a job waits for its mates; empty: it does not."""
    if record.state is JobState.HOLDING:
        return HOLDS
    if record.state not in (JobState.QUEUED, JobState.READY):
        return ""
    if record.slot is not None:
        return HAVE_SLOT
    return _BY_STATUS.get(record.mate_status, OTHER)


def status_of(job: Job, peer: str, now: datetime) -> tuple[str, str]:
    """Say what is known here of the job's mate on a peer, and how old that is (empty: not known)."""
    known = [(mate.status, mate.heard_at) for mate in job.mates if mate.domain == peer]
    if job.group is not None:
        known = [(member.status, None) for member in job.group.members if member.domain == peer]
    status, heard_at = known[0] if known else (None, None)
    if status is None:
        return ("to start" if to_start(job, peer, now) else "not known yet"), ""
    return MATES.get(status, status), "" if heard_at is None else ago(heard_at, now)


def to_start(job: Job, peer: str, now: datetime) -> str:
    """Say by when the member of its group there starts, if by the windows that is still to come; else empty."""
    members = job.group.members if job.group is not None else ()
    by = next((member.starts_by for member in members if member.domain == peer), None)
    return f"starts {ago(by, now)} at the latest" if by is not None and by > now else ""


def mates(job: Job) -> str:
    """Name the pair or group, and the mates as far as they are known; empty: the job has none."""
    names = " ".join(f"{one.domain}:{one.id or '?'}" for one in _mates(job))
    named = job.group.name if job.group is not None else next((mate.pair for mate in job.mates if mate.pair), None)
    return f"{named} · {names}" if named else names


def _mates(job: Job) -> Sequence[Mate | Member]:
    return job.mates if job.group is None else job.group.members


def title(job: Job) -> str:
    """Name the pair or the group."""
    if job.group is not None:
        return f"group {job.group.name}"
    named = next((mate.pair for mate in job.mates if mate.pair), None)
    return f"pair {named}" if named else " and ".join((str(job), *map(str, job.mates)))


def waits(job: Job, others: Mapping[str, Job | None], now: datetime) -> str:
    """Say why the job waits, or since when it runs; it has ended when all have.

    `others`: its mates by domain; None: their domain does not tell.
    """
    if job.state == "holding":
        return f"holds {count(job.nodes, 'node')}: {_of_mates(job)}. {_hold_ends(job, now)}"
    if job.state == "starting":
        return f"starts: it waits {STARTING.get(job.reason, job.reason)}"
    if job.state == "running":
        apart = f",{_together(job)}" if _together(job) else ""
        return "; ".join((f"started {ago(job.started_at, now)}{apart}", *_go_on(job, others, now)))
    if job.state in ("queued", "ready"):
        if job.slot is not None:
            return f"starts with its mate {ago(job.slot, now)}, as agreed"
        if job.holds.until is not None:
            return f"its {count(job.nodes, 'node')} are {job.reason}. {_hold_ends(job, now)}"
        return f"queued for {until(job.submitted_at, now)}: {_why(job) or _of_mates(job)}"
    return _ended(job, others, now)


def _why(job: Job) -> str:
    if job.reason == story.WAITS_IN_QUEUE:
        return IN_QUEUE
    said = meaning_of(job.reason, of_group=job.group is not None)
    return job.reason if said is None else said


def row(job: Job, others: Mapping[str, Job | None], now: datetime) -> str:
    """Say of a job what its lanes and those of its mates do not show: all, once it has started; else why it waits."""
    if job.state == "holding":
        return f"{count(job.nodes, 'node')} idle. {_hold_ends(job, now)}"
    if job.state not in ("queued", "ready") or job.holds.until is not None:
        return waits(job, others, now)
    return "" if job.slot is not None or job.reason in _SHOWN else _why(job)


def _ended(job: Job, others: Mapping[str, Job | None], now: datetime) -> str:
    ends = [one.ended_at for one in (job, *others.values()) if one is not None and one.ended_at is not None]
    said = f"ended {ago(max(ends), now)}" if len(ends) > len(others) else f"its job here ended {ago(job.ended_at, now)}"
    apart = f"it started{_together(job)}" if _together(job) else ""
    return "; ".join(filter(None, (said, apart, *_go_on(job, others, now))))


def _go_on(job: Job, others: Mapping[str, Job | None], now: datetime) -> Iterator[str]:
    """Yield which mates have not ended, and what they do; of a job that runs: which have slots to come."""
    for member in _mates(job):
        said, other = to_start(job, member.domain, now), others.get(member.domain)
        if other is not None and other.slot is not None:
            said = f"starts {ago(other.slot, now)}, as agreed"
        elif other is not None:  # what it tells may be some seconds old: of a job that has just started it may be wrong
            said = _ACTIVE.get(other.state, "") if job.ended_at is not None else ""
        if said:
            yield f"{member} {said}"


def _of_mates(job: Job) -> str:
    return ", ".join(f"{mate} {_is(mate.id, mate.status)}" for mate in _mates(job))


def _is(id: str | None, status: str | None) -> str:
    return _MATE["unsubmitted"] if id is None else _MATE.get(status or "", "is not ready yet")


def _hold_ends(job: Job, now: datetime) -> str:
    if job.holds.forever:
        return "It holds until its mate can start"
    what = "Its hold ends" if job.state == "holding" else "That ends"
    return f"{what} {ago(job.holds.until, now)}" if job.holds.until is not None else ""


def _together(job: Job) -> str:
    late = gap(job).total_seconds()
    return f" {span(abs(late))} {'after' if late > 0 else 'before'} its mate" if abs(late) >= 1 else ""


def gap(job: Job) -> timedelta:
    """Return how much later the job started than its mate, or the others of its group; 0: that is not known."""
    gaps = [mate.gap for mate in job.mates] if job.group is None else [job.group.gap]
    return next((one for one in gaps if one is not None), timedelta())
