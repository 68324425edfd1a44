"""When jobs began by their managers' word, and how far apart those did that start together.

A start is ordered first, and on record. The manager begins the job at the agreed instant, or when it can: until then
the job is starting, and waits for that. If it begins more than a second after its mate, or before, the story says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import Domain
from cosched.service.store import JobRecord

CLOSE = 1.0  # seconds; jobs that begin so far apart have started together


class Waits(StrEnum):
    """What a job waits for whose start was ordered, in the words that the queue shows as its reason."""

    AGREED_START = "AgreedStart"
    BATCH_SYSTEM = "BatchSystem"
    LAUNCHING = "Launching"
    NODES_BUSY = "NodesBusy"
    DISK_FULL = "DiskFull"
    LAST_RUN = "LastRun"


class Late(StrEnum):
    """Why a job began later than another that starts with it; the values are those that stories store."""

    RESTARTED = "service restarted"
    MANAGER = "manager late"
    ORDERED_LATE = "ordered late"


class Began(NamedTuple):
    """A job's start, in seconds by one clock: when it was `ordered`, and since when its domain's service serves."""

    at: float
    ordered: float
    serving_since: float


class Gap(NamedTuple):
    """How many seconds `late` a job began after another's; negative: before. `peer`: whose; `why`: as of the later."""

    late: float
    peer: Domain
    why: Late


def waits_for(record: JobRecord, now: float, *, batch_system: bool) -> str:
    """Return what a job waits for that is starting; `now`: in seconds since 1970."""
    if record.preempted_at is not None:
        return Waits.LAST_RUN
    if record.job.start_at is not None and now < record.job.start_at:
        return Waits.AGREED_START
    return record.reason or (Waits.BATCH_SYSTEM if batch_system else Waits.LAUNCHING)


def gap_of(own: Began, others: Mapping[Domain, Began], group: Membership) -> Gap:
    """Return how far the job began from others that have begun: from the first, or if it was that, from the last.

    Where they start in windows, those who keep to them are not apart.
    """
    begins = {peer: other.at - group.window(peer)[0] for peer, other in others.items()}
    first = min(begins, key=lambda peer: begins[peer])
    late = own.at - group.window(group.own)[1] - begins[first]
    if group.by_slots_only:
        return Gap(max(late, 0.0), first, _why(own, others[first]))
    if late >= 0:
        return Gap(late, first, _why(own, others[first]))
    last = max(begins, key=lambda peer: begins[peer])
    return Gap(own.at - begins[last], last, _why(others[last], own))


def _why(later: Began, earlier: Began) -> Late:
    """Return why the later of two jobs did not begin with the other."""
    if earlier.at - CLOSE < later.serving_since <= later.at:
        return Late.RESTARTED
    return Late.MANAGER if later.at - later.ordered > CLOSE else Late.ORDERED_LATE
