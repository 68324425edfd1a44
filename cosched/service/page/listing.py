"""The jobs of this domain, and those with mates, in the order in which people should see them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from cosched.core.job import JobState
from cosched.core.protocol import Domain
from cosched.core.story import Why
from cosched.service.api.reads import in_slices
from cosched.service.page import sentences
from cosched.service.page.page_api import Described
from cosched.service.page.timeline import SPANS
from cosched.service.page.viewers import Policy, Viewer
from cosched.service.store import JobRecord, Reader
from cosched.v1.coscheduling_pb2 import MATE_STATUS_HOLDING

FRESH = 1.0  # seconds for which the order is used again
LOOKED_THROUGH = 500  # jobs before other work gets its turn
MAX_ENDED = 200
_LATE = 1 << 62
STATES = (JobState.HOLDING, JobState.READY, JobState.RUNNING, JobState.QUEUED)  # in the order of the list
WRONG = (Why.MATE_UNKNOWN, Why.MEMBER_LOST, Why.INSTANT_PASSED, Why.PEER_REFUSED)


@dataclass(slots=True)
class Sums:
    """What jobs that have not ended are in sum, for any viewer; but for `jobs`, those with mates; by peer: how many."""

    jobs: Counter[JobState] = field(default_factory=Counter)
    nodes: Counter[JobState] = field(default_factory=Counter)  # that they have, or need
    holding: list[JobRecord] = field(default_factory=list)
    wrong: list[JobRecord] = field(default_factory=list)  # their mates do not exist, or will not run
    unsubmitted: list[JobRecord] = field(default_factory=list)  # they wait for mates that nobody has submitted
    waiting: Counter[Domain] = field(default_factory=Counter)
    held_here: Counter[Domain] = field(default_factory=Counter)
    held_there: Counter[Domain] = field(default_factory=Counter)
    waits: dict[tuple[Domain, str], Wait] = field(default_factory=dict)  # by peer and kind

    def add(self, record: JobRecord) -> None:
        """Count one more."""
        self.jobs[record.state] += 1
        self.nodes[record.state] += record.node_count
        kind = sentences.kind_of_wait(record) if record.paired else ""
        if not kind:
            return
        holds = record.state is JobState.HOLDING
        if holds:
            self.holding.append(record)
        if record.reason in (Why.MATE_UNKNOWN, Why.MEMBER_LOST, Why.INSTANT_PASSED):
            self.wrong.append(record)
        if record.reason == Why.MATE_UNSUBMITTED:
            self.unsubmitted.append(record)
        there = not holds and record.mate_status == MATE_STATUS_HOLDING
        for peer in record.mates:
            self.waiting[peer] += 1
            self.held_here[peer] += holds
            self.held_there[peer] += there
            wait = self.waits.setdefault((peer, kind), Wait(peer, kind))
            wait.jobs += 1
            wait.nodes += record.nodes
            wait.oldest = min(wait.oldest, record.submitted_at)


@dataclass(slots=True)
class Wait:
    """How many jobs wait for which domain, and why."""

    peer: Domain
    kind: str
    jobs: int = 0
    nodes: int = 0
    oldest: int = 2**62  # submission of the first, in the service's own time


@dataclass(frozen=True, slots=True)
class Ordered:
    """Jobs in order; also by owner."""

    everybodys: Sequence[JobRecord]
    by_owner: Mapping[str, Sequence[JobRecord]]

    @classmethod
    def of(cls, records: Sequence[JobRecord]) -> Ordered:
        """Return these, in their order."""
        by_owner: dict[str, list[JobRecord]] = {}
        for record in records:
            by_owner.setdefault(record.owner, []).append(record)
        return cls(records, by_owner)

    def seen(self, policy: Policy, viewer: Viewer) -> Sequence[JobRecord]:
        """Return those that the viewer may see."""
        return self.everybodys if policy.sees_all(viewer) else self.by_owner.get(viewer.name or "", ())


@dataclass(frozen=True, slots=True)
class Listed:
    """The jobs at an instant."""

    at: float
    paired: Ordered  # those with mates that have not ended, or whose groups have only begun, then the last that have
    active: Ordered  # all that have not ended
    sums: Sums


class Listing:
    """The list, made anew at most once a second, however many look."""

    def __init__(self, described: Described) -> None:
        self._described = described
        self._listed: dict[int, Listed] = {}  # by the seconds of the past
        self._one_at_a_time = asyncio.Lock()

    async def jobs(self, past: int = 0) -> Listed:
        """Return the jobs, the ended ones of so many seconds."""
        async with self._one_at_a_time:
            known = self._listed.get(past)
            if known is None or time.monotonic() - known.at >= FRESH:
                known = self._listed[past] = await self._list(past)
            return known

    async def _list(self, past: int) -> Listed:
        described, active, sums = self._described, [], Sums()
        plan = await described.explaining.recent()
        async for record in in_slices(list(described.domain.jobs.values()), LOOKED_THROUGH):
            if record.state in STATES:
                active.append(record)
                sums.add(record)
        paired = [record for record in active if record.paired]
        now = described.clock.now()
        ended = await described.reads.read(Reader.ended_since, now - max(SPANS.values()), MAX_ENDED)
        begun = [record for record in ended if any(by > now for by in record.starts_by.values())]
        over = [record for record in ended if record not in begun and (record.ended_at or 0) >= now - past]
        active.sort(key=lambda one: (STATES.index(one.state), plan.places.get(str(one.id), (0, 0)), *_since(one)))
        everybodys = [*sorted([*paired, *begun], key=partial(urgency, plan.starts)), *over]
        return Listed(time.monotonic(), Ordered.of(everybodys), Ordered.of(active), sums)


def urgency(starts: Mapping[str, int], record: JobRecord) -> tuple[int, int, int]:
    """Return the place of a job: what keeps nodes comes first, then what waits, then what runs, then ended ones.

    `starts`: when those that wait are expected to start.
    """
    return *_urgency(record, starts.get(str(record.id), _LATE)), record.id


def _urgency(record: JobRecord, expected: int) -> tuple[int, int]:
    since = record.submitted_at
    if record.state is JobState.HOLDING:
        return 0, record.job.held_since
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
    return (4 if record.mate_status == MATE_STATUS_HOLDING else 5), expected


def _since(record: JobRecord) -> tuple[int, int]:
    """Return the place of a job among those in its state: the last started first, then the first submitted."""
    return -(record.started_at or 0), record.submitted_at


def matching(records: Sequence[JobRecord], find: str) -> list[JobRecord]:
    """Return those that are, or belong to, what is looked for (empty: all); else those with it in a name.

    Names are those of jobs, pairs, groups and owners, and numbers here and, also as DOMAIN:ID, of mates.
    """
    if not find:
        return list(records)
    exact = [record for record in records if find in _names(record)]
    part = find.lower()
    return exact or [record for record in records if any(part in name.lower() for name in _words(record))]


def _words(record: JobRecord) -> Iterator[str]:
    return filter(None, (record.group_name, record.owner, record.name))


def _names(record: JobRecord) -> Iterator[str | None]:
    yield str(record.id)
    yield from _words(record)
    for peer, id in record.mates.items():
        yield f"{peer}:{id}"
        if record.is_pair:
            yield id
