"""The jobs of this domain that have mates, in the order in which people should see them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cosched.core.job import JobState
from cosched.core.protocol import Domain
from cosched.core.story import Why
from cosched.service.api.reads import Reads, in_slices
from cosched.service.clock import Clock
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.page.viewers import Policy, Viewer
from cosched.service.store import JobRecord
from cosched.v1.coscheduling_pb2 import MATE_STATUS_HOLDING

FRESH = 1.0  # seconds for which the order is used again
LOOKED_THROUGH = 500  # jobs before other work gets its turn
MAX_ENDED = 200
WRONG = (Why.MATE_UNKNOWN, Why.MEMBER_LOST, Why.PEER_REFUSED)


@dataclass(frozen=True, slots=True)
class Listed:
    """All jobs with mates that have not ended, and the last that have."""

    at: float
    active: Sequence[JobRecord]
    ended: Sequence[JobRecord]


class Listing:
    """The list, made anew at most once a second, however many look."""

    def __init__(self, domain: LiveDomain, reads: Reads, clock: Clock) -> None:
        self._domain = domain
        self._reads = reads
        self._clock = clock
        self._listed: dict[int, Listed] = {}  # by the seconds of the past

    async def jobs(self, past: int) -> Listed:
        """Return the jobs, the ended ones of so many seconds."""
        known = self._listed.get(past)
        if known is not None and time.monotonic() - known.at < FRESH:
            return known
        active = [record async for record in in_slices(list(self._domain.jobs.values()), LOOKED_THROUGH)]
        active = sorted((record for record in active if record.paired), key=urgency)
        ended = await self._reads.ended_since(self._clock.now() - past, MAX_ENDED)
        self._listed[past] = Listed(time.monotonic(), active, ended)
        return self._listed[past]


def seen(listed: Listed, policy: Policy, viewer: Viewer, find: str) -> list[JobRecord]:
    """Return those that the viewer may see, and that are, or belong to, what is looked for (empty: anything)."""
    return [
        record for record in (*listed.active, *listed.ended)
        if policy.sees(viewer, record.owner) and (not find or find in _names(record))
    ]  # fmt: skip


def mates(record: JobRecord) -> Iterator[tuple[Domain, str | None]]:
    """Yield the domains of a job's mates, with their ids as far as they are known."""
    if record.group_name is not None:
        known = (record.memory or {}).get("group", {}).get("jobs", {})
        yield from ((domain, known.get(domain)) for domain in (record.group_with or "").split("+"))
    elif record.peer is not None:
        yield record.peer, record.mate


def urgency(record: JobRecord) -> tuple[int, int]:
    """Return the place of a job that has not ended: what keeps nodes comes first, then what waits, then what runs."""
    since = record.submitted_at
    if record.state is JobState.HOLDING:
        return 0, (record.memory or {}).get("held_since", since)
    if record.state is JobState.READY:
        return 1, since
    if record.state is JobState.RUNNING:
        return 6, -(record.started_at or 0)
    if record.reason in WRONG:
        return 2, since
    if record.slot is not None:
        return 3, record.slot
    return (4 if record.mate_status == MATE_STATUS_HOLDING else 5), since


def _names(record: JobRecord) -> tuple[str | None, ...]:
    return str(record.id), record.pair, record.group_name, record.owner, record.name, record.mate
