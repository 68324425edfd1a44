"""The first page: what is wrong, the domains, who waits for whom, and the pairs and groups on one time axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from cosched.client import Domain, Event, Explanation, Job, Peer
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.service.configuration import Configuration
from cosched.service.page import sentences, words
from cosched.service.page.listing import Listing, matching
from cosched.service.page.page_api import OF_LANES, Described
from cosched.service.page.peers_told import PeersTold, Told, as_allowed
from cosched.service.page.problems import Situation, glance, problems
from cosched.service.page.timeline import SPANS, Axis, Bar, Outlook, lane, start_of
from cosched.service.page.viewers import Viewer
from cosched.service.store import JobRecord, Reader

DEFAULT = "6h"
Start = tuple[datetime, str]  # when one is expected, and what is said of it beside its mark
Starts = Mapping[str, Start]
ROWS = 25  # of one page
MAX_EVENTS = 2000  # of the jobs of one page
Fact = tuple[str, str, bool]  # a line about a domain: its name, its value, and whether it needs attention


@dataclass(frozen=True, slots=True)
class DomainCard:
    """A domain: what is known of it here; `note`: how old that is."""

    name: str
    note: str
    facts: Sequence[Fact]
    shares: Sequence[tuple[str, float, float]]  # what nodes do: kind; begin and width in percent
    cap: float | None  # of held ones, in percent
    nodes: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One job of a row; `said` tells in words what the bars show, or why there are none; `age`: of the state."""

    domain: str
    job: str
    state: str
    age: str
    said: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Overviews:
    """Makes overviews."""

    _described: Described
    _told: PeersTold
    _listing: Listing
    _configuration: Configuration
    _stalled: Callable[[], str | None]

    async def overview(self, viewer: Viewer, past: str, find: str, first: int) -> dict[str, Any]:
        """Return what the page shows this viewer; `past`: of the SPANS, empty: as much as the jobs that wait need."""
        listed = await self._listing.jobs(SPANS[past or DEFAULT])
        visible = matching(listed.paired.seen(self._described.policy, viewer), find)
        shown = visible[first : first + ROWS]
        instant, now = self._described.clock.now(), self._described.now()
        domain = Domain(self._described.about())
        peers = {peer.name for peer in domain.peers}
        told = await self._told.about(viewer, _wanted(shown, peers))

        def sees(record: JobRecord) -> bool:
            return self._described.policy.sees(viewer, record.owner)

        without = self._described.domain.presence.without
        situation = Situation(domain, self._configuration, self._stalled(), listed.sums, sees, without, now, instant)
        known = await self._described.explaining.known(shown)
        allowed = [Explanation(as_allowed(one, told)) for one in known]
        explained = {record.id: one for record, one in zip(shown, allowed, strict=True)}
        past = past or _past(shown, instant)
        expected = (at for one in explained.values() for at, _ in starts(one, now).values())
        axis = Outlook(now, past, (*expected, *map(self._described.when, _ends(shown))))
        rows, found = await self._rows(shown, told, explained, axis), problems(situation)
        lanes = [lane for row in rows for lane in row["lanes"]]
        drawn, untold = {bar.kind for lane in lanes for bar in lane.bars}, list(_untold(lanes, told))
        pairs = {"rows": rows, "all_rows": len(visible), "untold": untold, "drawn": drawn}
        of_all = {"glance": glance(domain, found), "problems": found, "domains": _cards(domain, told, now)}
        asked = {"now": now, "instant": instant, "past": past, "axis": axis, "find": find, "first": first}
        held_first = sorted(listed.sums.waits.values(), key=lambda one: (sentences.ORDER.index(one.kind), -one.nodes))
        return {**asked, **of_all, "waits": held_first, **pairs}

    async def _rows(
        self, records: Sequence[JobRecord], told: Mapping[str, Told], explained: Mapping[int, Explanation], axis: Axis
    ) -> list[dict[str, Any]]:
        """Return the rows of the page: pairs and groups."""
        events: dict[int | None, list[Event]] = {}
        ids = [record.id for record in records]
        for event in await self._described.reads.read(Reader.stories, ids, OF_LANES, MAX_EVENTS):
            events.setdefault(event.job, []).append(Event(self._described.views.event(event)))
        return [self._row(record, events.get(record.id, ()), told, explained[record.id], axis) for record in records]

    def _row(
        self, record: JobRecord, events: Sequence[Event], told: Mapping[str, Told], explained: Explanation, axis: Axis
    ) -> dict[str, Any]:
        job, expected = Job(self._described.views.job(record)), starts(explained, axis.now)
        lanes = list(lanes_of(job, events, told, record, axis, expected))
        said = {"title": sentences.title(job), "why": sentences.row(job, others(record, told), axis.now)}
        return {"job": record.id, "owner": job.owner, "name": job.name, **said, "lanes": lanes}


def _past(records: Iterable[JobRecord], instant: int) -> str:
    """Return the shortest span that shows half of these jobs, or of those that have not ended, since their submission.

    So one that waits for long does not make slivers of all others. It is the longest, if none reaches so far back.
    """
    shown = list(records)
    ages = sorted(instant - one.submitted_at for one in [one for one in shown if not one.state.final] or shown)
    age = ages[(len(ages) - 1) // 2] if ages else 0
    return next((past for past, seconds in SPANS.items() if age <= seconds), list(SPANS)[-1])


def _ends(records: Iterable[JobRecord]) -> Iterator[int]:
    """Yield when what jobs have ends: their holds, and their runs at the latest."""
    for record in records:
        if record.state is JobState.HOLDING and record.job.held_until < FOREVER:
            yield record.job.held_until
        elif record.state is JobState.RUNNING and record.allocation is not None:
            yield record.allocation.latest_end


def _wanted(records: Iterable[JobRecord], peers: Iterable[str]) -> dict[str, set[str]]:
    """Return the jobs of each peer that are mates of these."""
    wanted: dict[str, set[str]] = {peer: set() for peer in peers}
    for record in records:
        for peer, job in record.mates.items():
            if job is not None and peer in wanted:
                wanted[peer].add(job)
    return wanted


def others(record: JobRecord, told: Mapping[str, Told]) -> dict[str, Job | None]:
    """Return the job's mates by domain; None: their domain does not tell."""
    return {
        peer: told[peer].jobs.get(id or "", (None,))[0] if peer in told else None for peer, id in record.mates.items()
    }


def starts(explained: Explanation, now: datetime) -> Starts:
    """Return when jobs are expected to start, by domain, and what is said of it: of all together, if that is known."""
    together, own = explained.together, explained.job.domain
    sides = {side.domain: together or side.start for side in (explained.job, *explained.mates)}
    alone = together is None and bool(explained.mates)
    found = {}
    for peer, one in sides.items():
        if one is not None and one.source != "has_nodes":
            when, ours = words.start(one, now), peer == own
            once = when if ours else ""
            found[peer] = one.at, f"{when} {'here' if ours else 'there'}" if alone else once
    return found


def lanes_of(
    job: Job, events: Sequence[Event], told: Mapping[str, Told], record: JobRecord, axis: Axis, expected: Starts
) -> Iterator[Lane]:
    """Yield the lanes of a job and its mates, by domain."""
    yield lane_of(job, events, axis, expected.get(job.domain))
    for peer, id in record.mates.items():
        yield lane_of_mate(peer, id, told.get(peer), job, axis, expected.get(peer))


def lane_of(job: Job, events: Sequence[Event], axis: Axis, expected: Start | None = None) -> Lane:
    """Return the lane of a job."""
    at, said = expected or (None, "")
    state = sentences.STATES.get(job.state, job.state)
    return Lane(job.domain, job.id, state, "", _said(job, axis, at), lane(axis, job, events, at, said))


def lane_of_mate(
    peer: str, id: str | None, told: Told | None, ours: Job, axis: Axis, expected: Start | None = None
) -> Lane:
    """Return the lane of a mate, as far as its domain tells; else what is known of it here."""
    if id is None:
        return Lane(peer, "", sentences.MATES["unsubmitted"], "", "", ())
    if told is not None and id in told.jobs:
        job, events = told.jobs[id]
        return lane_of(job, events, axis, expected)
    state, age = sentences.status_of(ours, peer, axis.now)
    bars = tuple(start_of(axis, ours.slot, None, ""))
    agreed = f"slot {words.soon(ours.slot, axis.now)}" if ours.slot is not None else ""
    return Lane(peer, id, state, age, agreed or sentences.to_start(ours, peer, axis.now), bars)


def _untold(lanes: Sequence[Lane], told: Mapping[str, Told]) -> Iterator[str]:
    """Yield what peers do not tell, once each: their lanes have no more than what is known here."""
    for peer, answer in told.items():
        if any(lane.domain == peer and lane.job and lane.job not in answer.jobs for lane in lanes):
            yield f"{answer.problem or sentences.UNTOLD.format(peer=peer)}."


def _said(job: Job, axis: Axis, expected: datetime | None) -> str:
    parts = [f"submitted {words.ago(job.submitted_at, axis.now)}"]
    if job.ready_at is not None:
        parts.append(f"ready {words.ago(job.ready_at, axis.now)}")
    if job.holds.holds:
        parts.append(f"held {words.count(job.holds.holds, 'time')}")
    if job.slot is not None:
        parts.append(f"slot {words.ago(job.slot, axis.now)}")
    elif expected is not None and job.started_at is None:
        parts.append(f"expected to start {words.soon(expected, axis.now)}")
    if job.started_at is not None:
        parts.append(f"started {words.ago(job.started_at, axis.now)}")
    if job.ended_at is not None:
        parts.append(f"{job.state} {words.ago(job.ended_at, axis.now)}")
    return ", ".join(parts)


def _cards(here: Domain, told: Mapping[str, Told], now: datetime) -> list[DomainCard]:
    serves = "Serves", f"for {words.until(here.serving_since, now)}", False
    cards = [_card(here, "this domain", [serves, *_facts(here, now)])]
    for peer in here.peers:
        said = told[peer.name]
        note = f"as of {words.span(said.age)} ago" if said.problem and said.domain is not None else ""
        cards.append(_card(said.domain, note, [*_of_peer(peer, now), *_facts(said.domain, now)], peer.name))
    return cards


def _of_peer(peer: Peer, now: datetime) -> list[Fact]:
    state = {"reachable": "answers", "unreachable": "gives no answer", "refused": "refused"}.get(peer.state, "unknown")
    if peer.stopped_at is not None:
        back = "soon" if peer.back_by is None else words.soon(peer.back_by, now)
        return [("Stopped", f"{words.ago(peer.stopped_at, now)}, said it would be back {back}", True)]
    heard = f"{state}, for {words.until(peer.since, now)}" if peer.since is not None else state
    if peer.state in ("unreachable", "refused"):
        return [("Heartbeat", heard, True)]
    clock = "unknown"
    if peer.clock_offset is not None:
        side = "ahead" if peer.clock_offset.total_seconds() > 0 else "behind"
        clock = f"{words.milliseconds(peer.clock_offset)} {side}, ± {words.milliseconds(peer.clock_uncertainty)}"
    trip = words.milliseconds(peer.round_trip)
    return [("Heartbeat", heard, False), ("Round trip", trip, False), ("Clock", clock, False)]


def _facts(domain: Domain | None, now: datetime) -> list[Fact]:
    if domain is None:
        return []
    jobs, drain, scheme = domain.jobs, domain.drain, domain.scheme_in_words().removeprefix("scheme ")
    said = f"{jobs['queued'] + jobs['ready']} wait, {jobs['holding']} hold, {jobs['running']} run"
    drains = [("Drains", f"since {words.until(drain.since, now)}", True)] if drain is not None else []
    return [("Scheme", scheme, False), ("Jobs", said, False), *drains]


def _card(domain: Domain | None, note: str, facts: Sequence[Fact], name: str = "") -> DomainCard:
    if domain is None:
        return DomainCard(name, note, facts, (), None, "")
    nodes, total, shares, place = domain.nodes, sum(domain.nodes.values()), [], 0.0
    for kind in ("held", "busy", "idle", "down", "unknown"):  # held ones first, up to the mark of the cap
        width = round(100 * nodes[kind] / total, 2) if total else 0.0
        shares.append((kind, round(place, 2), width))
        place += width
    said = f"{words.count(total, 'node')}: {', '.join(f'{number} {kind}' for kind, number in nodes.items() if number)}"
    if domain.slots or domain.scheme == "off":  # its jobs never hold
        return DomainCard(domain.name, note, facts, shares, None, said)
    cap = Decimal(domain.max_held_fraction or "1")
    return DomainCard(domain.name, note, facts, shares, float(100 * cap), f"{said}; at most {int(cap * total)} held")
