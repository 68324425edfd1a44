"""The jobs of this domain that have mates, in the order in which people should see them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cosched.core.job import JobState
from cosched.core.protocol import Domain
from cosched.core.story import Why
from cosched.service.api.reads import Reads, in_slices
from cosched.service.clock import Clock
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.page import sentences
from cosched.service.page.timeline import SPANS
from cosched.service.page.viewers import Policy, Viewer
from cosched.service.store import JobRecord
from cosched.v1.coscheduling_pb2 import MATE_STATUS_HOLDING

FRESH = 1.0  # seconds for which the order is used again
LOOKED_THROUGH = 500  # jobs before other work gets its turn
MAX_ENDED = 200
WRONG = (Why.MATE_UNKNOWN, Why.MEMBER_LOST, Why.INSTANT_PASSED, Why.PEER_REFUSED)


@dataclass(slots=True)
class Sums:
    """What jobs with mates that have not ended are in sum, for any viewer; by peer: how many jobs."""

    holding: list[JobRecord] = field(default_factory=list)
    wrong: list[JobRecord] = field(default_factory=list)  # their mates do not exist, or will not run
    unsubmitted: list[JobRecord] = field(default_factory=list)  # they wait for mates that nobody has submitted
    waiting: Counter[Domain] = field(default_factory=Counter)
    held_here: Counter[Domain] = field(default_factory=Counter)
    held_there: Counter[Domain] = field(default_factory=Counter)
    waits: dict[tuple[Domain, str], Wait] = field(default_factory=dict)  # by peer and kind

    def add(self, record: JobRecord) -> None:
        """Count one more."""
        kind = sentences.kind_of_wait(record)
        if not kind:
            return
        holds = record.state is JobState.HOLDING
        for chosen, into in (
            (holds, self.holding),
            (record.reason in (Why.MATE_UNKNOWN, Why.MEMBER_LOST, Why.INSTANT_PASSED), self.wrong),
            (record.reason == Why.MATE_UNSUBMITTED, self.unsubmitted),
        ):
            if chosen:
                into.append(record)
        there = not holds and record.mate_status == MATE_STATUS_HOLDING
        for peer, _ in mates(record):
            self.waiting[peer] += 1
            self.held_here[peer] += holds
            self.held_there[peer] += there
            self.waits.setdefault((peer, kind), Wait(peer, kind)).add(record)


@dataclass(slots=True)
class Wait:
    """How many jobs wait for which domain, and why."""

    peer: Domain
    kind: str
    jobs: int = 0
    nodes: int = 0
    oldest: int = 2**62  # submission of the first, in the service's own time

    def add(self, record: JobRecord) -> None:
        """Count one more."""
        self.jobs += 1
        self.nodes += record.nodes
        self.oldest = min(self.oldest, record.submitted_at)


@dataclass(frozen=True, slots=True)
class Listed:
    """All jobs with mates that have not ended, or whose groups have only begun, and the last that have, in order; also
    by owner.
    """

    at: float
    everybodys: Sequence[JobRecord]
    by_owner: Mapping[str, Sequence[JobRecord]]
    sums: Sums


class Listing:
    """The list, made anew at most once a second, however many look."""

    def __init__(self, domain: LiveDomain, reads: Reads, clock: Clock) -> None:
        self._domain = domain
        self._reads = reads
        self._clock = clock
        self._listed: dict[int, Listed] = {}  # by the seconds of the past
        self._turn = asyncio.Lock()

    async def jobs(self, past: int) -> Listed:
        """Return the jobs, the ended ones of so many seconds."""
        async with self._turn:
            known = self._listed.get(past)
            if known is None or time.monotonic() - known.at >= FRESH:
                known = self._listed[past] = await self._list(past)
            return known

    async def _list(self, past: int) -> Listed:
        active, sums = [], Sums()
        async for record in in_slices(list(self._domain.jobs.values()), LOOKED_THROUGH):
            if record.paired:
                active.append(record)
                sums.add(record)
        now = self._clock.now()
        ended = await self._reads.ended_since(now - max(SPANS.values()), MAX_ENDED)
        begun = [record for record in ended if any(by > now for by in record.starts_by.values())]
        over = [record for record in ended if record not in begun and (record.ended_at or 0) >= now - past]
        everybodys = [*sorted([*active, *begun], key=urgency), *over]
        by_owner: dict[str, list[JobRecord]] = {}
        for record in everybodys:
            by_owner.setdefault(record.owner, []).append(record)
        return Listed(time.monotonic(), everybodys, by_owner, sums)


def seen(listed: Listed, policy: Policy, viewer: Viewer, find: str) -> Sequence[JobRecord]:
    """Return those that the viewer may see, and that are, or belong to, what is looked for (empty: anything)."""
    visible = listed.everybodys if policy.sees_all(viewer) else listed.by_owner.get(viewer.name or "", ())
    return [record for record in visible if find in _names(record)] if find else visible


def mates(record: JobRecord) -> Iterator[tuple[Domain, str | None]]:
    """Yield the domains of a job's mates, with their ids as far as they are known."""
    if record.group_name is not None:
        known = (record.memory or {}).get("group", {}).get("jobs", {})
        yield from ((domain, known.get(domain)) for domain in (record.group_with or "").split("+"))
    elif record.peer is not None:
        yield record.peer, record.mate


def urgency(record: JobRecord) -> tuple[int, int]:
    """Return the place of a job: what keeps nodes comes first, then what waits, then what runs, then ended ones."""
    since = record.submitted_at
    if record.state is JobState.HOLDING:
        return 0, (record.memory or {}).get("held_since", since)
    if record.state is JobState.READY:
        return 1, since
    if record.state.final:
        return 3, max(record.starts_by.values(), default=0)
    if record.state is JobState.RUNNING:
        return 6, -(record.started_at or 0)
    if record.reason in WRONG:
        return 2, since
    if record.slot is not None:
        return 3, record.slot
    return (4 if record.mate_status == MATE_STATUS_HOLDING else 5), since


def _names(record: JobRecord) -> tuple[str | None, ...]:
    return str(record.id), record.pair, record.group_name, record.owner, record.name, record.mate
