"""The last days: what nodes did, how pairs started, how late, and when peers were away. No job and no user is named."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from cosched.core.story import TOGETHER, Why
from cosched.service.api.reads import Usage
from cosched.service.domain.charges import HOUR
from cosched.service.domain.story import Noted
from cosched.service.page import words
from cosched.service.page.page_api import Described
from cosched.service.page.sampling import sample_interval
from cosched.service.page.timeline import SPANS, Axis, Bar, Tick
from cosched.service.page.viewers import Viewer
from cosched.service.store import EventRecord, Reader, Sample
from cosched.v1 import domain_pb2

_TICKS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)  # seconds
FRESH = 60.0  # seconds for which it is shown again
MAX_USERS = 50
PARTS = 56  # of the time: three hours each, of a week
SHORTEST = 3600  # seconds
LEAST = 60  # seconds that a history has at least
KINDS = (
    domain_pb2.EVENT_KIND_SUBMITTED, domain_pb2.EVENT_KIND_STARTED, domain_pb2.EVENT_KIND_HELD,
    domain_pb2.EVENT_KIND_YIELDED, domain_pb2.EVENT_KIND_RELEASED, domain_pb2.EVENT_KIND_PEER,
    domain_pb2.EVENT_KIND_WARNING,
)  # fmt: skip
UNPAIRED = ("", Why.NO_MATE, Why.COSCHEDULING_OFF)
TOGETHER_SAID, APART, WITHOUT = "together", "apart", "without"
MOST_LOOKED_UP = 2000  # jobs that were submitted before
_BATCH = 200  # of them
# One part of the time: its x and width, its shares (kind, top and height), all in percent; and the same in words
Column = tuple[float, float, Sequence[tuple[str, float, float]], str]


class Histories:
    """Makes histories of some lengths, each at most once a minute."""

    def __init__(self, described: Described, peers: Sequence[str], length: int) -> None:
        """`length`: seconds of the longest, for which samples are kept."""
        self._described = described
        self._peers = peers
        self._longest = words.span(length).replace(" ", "")
        self.spans = {name: span for name, span in SPANS.items() if SHORTEST <= span < length} | {self._longest: length}
        self._made: dict[str, tuple[float, dict[str, Any]]] = {}
        self._used: dict[str, tuple[float, dict[str, Usage]]] = {}

    async def history(self, past: str) -> dict[str, Any]:
        """Return what the page shows of one of the spans (of another: the longest), as of the last minute."""
        past = past if past in self.spans else self._longest
        at, made = self._made.get(past, (-math.inf, {}))
        if time.monotonic() - at >= FRESH:
            made = await _Making(self._described, self._peers, past, self.spans).history()
            self._made[past] = time.monotonic(), made
        return made

    async def usage(self, viewer: Viewer, past: str) -> list[tuple[str, int, list[str]]]:
        """Return what jobs of users whom the viewer may see have cost in one of the spans, in node-hours, most first.

        Of each user: the name, how many jobs, and the fields of Cost.
        """
        described, now = self._described, time.monotonic()
        at, found = self._used.get(past, (-FRESH, {}))
        if now - at >= FRESH:
            found = await described.reads.usage("owner", (described.clock.now() - self.spans[past]) // HOUR)
            self._used[past] = now, found
        seen = [(user, used) for user, used in found.items() if described.policy.sees(viewer, user)]
        seen.sort(key=lambda item: (-item[1].cost.held - item[1].cost.booked, item[0]))
        return [(user, len(used.jobs), [f"{one / HOUR:.2f}" for one in used.cost]) for user, used in seen[:MAX_USERS]]


class _Making:
    """The making of one history."""

    def __init__(self, described: Described, peers: Sequence[str], past: str, spans: Mapping[str, int]) -> None:
        self._described = described
        self._peers = peers
        self._past = past
        self._spans = spans
        self._instant = described.clock.now()
        self._interval = sample_interval(max(spans.values()))
        self._length = spans[past]

    async def history(self) -> dict[str, Any]:
        """Make it, as long as there is something."""
        described, now, instant = self._described, self._described.now(), self._instant
        samples = await described.reads.read(Reader.samples, instant - max(self._spans.values()))
        events = (await described.reads.events_since(instant - self._length, KINDS))[::-1]
        first = min([instant, *(sample.at for sample in samples[:1]), *(event.at for event in events[:1])])
        spans = [name for name, span in self._spans.items() if span < instant - first]
        self._length = min(self._length, max(LEAST, instant - first))
        since = instant - self._length
        axis = Axis(now, now - timedelta(seconds=self._length), now)
        kinds = Counter(event.kind for event in events)
        starts = [event for event in events if event.kind == domain_pb2.EVENT_KIND_STARTED]
        gaps = _gaps(events)
        paired = [(event.at - since, how) for event in starts if (how := _how(event, gaps))]
        with_mates, others = await self._waits(events, starts)
        found, scale = spreads(
            ("Waits of jobs with mates", "with-mates", with_mates),
            ("Waits of other jobs", "others", others),
            ("Holds", "held", _holds(events)),
            ("Starts apart from the mate", "apart", list(gaps.values())),
        )
        asked = {"length": words.span(self._length), "past": self._past, "spans": spans if len(spans) > 1 else []}
        measured = [one for one in samples if one.at >= since]
        charts = {"nodes": self._nodes(measured, since), "starts": self._starts(paired)}
        away, ticks = self._away(events, instant, axis), axis.ticks()
        listed = {"tiles": _tiles(paired, kinds), "spreads": found, "scale": scale, "away": away, "ticks": ticks}
        return {"now": now, **asked, **charts, **listed}

    async def _waits(self, events: Iterable[EventRecord], starts: Sequence[EventRecord]) -> tuple[list[int], list[int]]:
        """Return how long jobs that started had waited, with mates and without."""
        submitted = {event.job: event.at for event in events if event.kind == domain_pb2.EVENT_KIND_SUBMITTED}
        before = [event.job for event in starts if event.job is not None and event.job not in submitted]
        for place in range(0, min(len(before), MOST_LOOKED_UP), _BATCH):
            batch = before[place : place + _BATCH]
            told = await self._described.reads.read(Reader.stories, batch, KINDS[:1], _BATCH)
            submitted |= {event.job: event.at for event in told}
        with_mates, others = list[int](), list[int]()
        for event in starts:
            if event.job in submitted:
                (with_mates if _how(event, {}) else others).append(event.at - submitted[event.job])
        return with_mates, others

    def _nodes(self, samples: Sequence[Sample], since: int) -> dict[str, Any]:
        """Return the chart of what nodes did; its `scale`: what its height stands for, from the top."""
        parts: dict[int, list[Sample]] = {}
        for sample in samples:
            parts.setdefault(self._part(sample.at - since), []).append(sample)
        size = max((sample.idle + sample.busy + sample.held for sample in samples), default=0)
        columns = [self._column(part, *_node_shares(found, size)) for part, found in sorted(parts.items())]
        held = sum(sample.held for sample in samples) / len(samples) if samples else 0
        said = f"On average {held:.1f} of {words.count(size, 'node')} held" if samples else "Nothing was measured yet"
        missing = (len(samples) + 1) * self._interval < 0.98 * self._length
        gaps = "; where there is no column, the service did not run, or had no page" if missing and samples else ""
        return {"columns": columns, "scale": _scale(size, "node"), "said": said + gaps}

    def _starts(self, paired: Sequence[tuple[int, str]]) -> dict[str, Any]:
        parts: dict[int, Counter[bool]] = {}
        for at, how in paired:
            parts.setdefault(self._part(at), Counter())[how == TOGETHER_SAID] += 1
        most = _rounded(max((counts.total() for counts in parts.values()), default=0))
        columns = []
        for part, counts in sorted(parts.items()):
            together, apart = 100 * counts[True] / most, 100 * counts[False] / most
            shares = (("together", 100 - together, together), ("apart", 100 - together - apart, apart))
            columns.append(self._column(part, shares, f"{counts[True]} together, {counts[False]} apart"))
        said = f"{words.count(len(paired), 'start')} of jobs with mates"
        return {"columns": columns, "scale": _scale(most, "start"), "said": said}

    def _away(self, events: Iterable[EventRecord], instant: int, axis: Axis) -> list[tuple[str, list[Bar], str]]:
        """Return when each peer was away: as bars and in words."""
        since: dict[str, int] = {}
        spans: dict[str, list[tuple[int, int]]] = {peer: [] for peer in self._peers}
        for event in events:
            peer = event.detail.get("peer")
            if peer not in spans:
                continue
            if event.what == Noted.PEER_AWAY:
                since.setdefault(peer, event.at)
            elif event.what == Noted.PEER_THERE and peer in since:
                spans[peer].append((since.pop(peer), event.at))
        for peer, begin in since.items():
            spans[peer].append((begin, instant))
        return [self._of_peer(peer, found, axis) for peer, found in spans.items()]

    def _of_peer(self, peer: str, spans: Sequence[tuple[int, int]], axis: Axis) -> tuple[str, list[Bar], str]:
        when = self._described.when
        bars = [bar for begin, end in spans for bar in axis.bar("away", when(begin), when(end))]
        lost = words.span(sum(end - begin for begin, end in spans))
        return peer, bars, f"away {words.count(len(spans), 'time')}, {lost} in all" if spans else "always there"

    @property
    def _parts(self) -> int:
        """Of how many parts the time consists: none is shorter than the time between samples."""
        return max(1, min(PARTS, int(self._length / self._interval)))

    def _part(self, at: int) -> int:
        return min(self._parts - 1, max(0, at * self._parts // self._length))

    def _column(self, part: int, shares: Iterable[tuple[str, float, float]], said: str) -> Column:
        width = 100 / self._parts
        drawn = [(kind, round(top, 2), round(height, 2)) for kind, top, height in shares if height > 0]
        ago = words.span(self._length * (self._parts - part) / self._parts)
        return round(part * width, 3), round(width * 0.86, 3), drawn, f"{ago} ago: {said}"


def _scale(top: int, what: str) -> list[str]:
    return [words.count(top, what), *([f"{top / 2:g}"] if top > 1 else ()), *("0" if top else ())]


def _rounded(most: int) -> int:
    """Return the next number that a scale can end at: 1, 2, 4, 6, 8, 10, 20, 40, ..."""
    step = 10 ** max(0, len(str(most)) - 1)
    return next(top for top in (step, 2 * step, 4 * step, 6 * step, 8 * step, 10 * step) if top >= most) if most else 0


def _how(event: EventRecord, gaps: Mapping[int | None, int]) -> str:
    """Return how a job with a mate started: together, apart or without it; empty: it had no mate."""
    why = str(event.detail.get("why") or "")
    if event.job in gaps:
        return APART
    if why in TOGETHER or why.startswith(Why.ASKED_BY_PEER):
        return TOGETHER_SAID
    return "" if why in UNPAIRED else WITHOUT


def _gaps(events: Sequence[EventRecord]) -> dict[int | None, int]:
    """Return by how much jobs began apart from their mates, as measured, or else as foreseen at their starts."""
    foreseen = {event.job: event.detail["gap_s"] for event in events if event.detail.get("gap_s")}
    return foreseen | {event.job: round(abs(event.detail["apart_s"])) for event in events if event.what == Noted.APART}


def _holds(events: Iterable[EventRecord]) -> list[int]:
    """Return how long holds were, of those that are over."""
    since: dict[int | None, int] = {}
    lengths: list[int] = []
    for event in events:
        if event.kind == domain_pb2.EVENT_KIND_HELD:
            since.setdefault(event.job, event.at)
        elif event.job in since and event.kind in (domain_pb2.EVENT_KIND_RELEASED, domain_pb2.EVENT_KIND_STARTED):
            lengths.append(event.at - since.pop(event.job))
    return lengths


def _tiles(paired: Sequence[tuple[int, str]], kinds: Counter[int]) -> list[tuple[str, str, str]]:
    hows = Counter(how for _, how in paired)
    share = f"{100 * hows[TOGETHER_SAID] / len(paired):.0f} %" if paired else "–"
    return [
        (str(len(paired)), "starts with a mate", "jobs of this domain"),
        (share, "started together", f"{hows[APART]} apart, {hows[WITHOUT]} without the mate"),
        (str(kinds[domain_pb2.EVENT_KIND_HELD]), "holds", f"{kinds[domain_pb2.EVENT_KIND_RELEASED]} released"),
        (str(kinds[domain_pb2.EVENT_KIND_YIELDED]), "yields told", "many of one job count as a few"),
    ]


def _node_shares(samples: Sequence[Sample], size: int) -> tuple[list[tuple[str, float, float]], str]:
    busy = sum(sample.busy for sample in samples) / len(samples)
    held = sum(sample.held for sample in samples) / len(samples)
    if not size:
        return [], "no nodes"
    high, low = 100 * busy / size, 100 * held / size
    shares = [("busy", 100 - high, high), ("held", 100 - high - low, low)]
    return shares, f"{busy:.1f} nodes busy, {held:.1f} held"


def spreads(*found: tuple[str, str, Sequence[int]]) -> tuple[list[dict[str, Any]], list[Tick]]:
    """Return how long things took, given by name, class in the style sheet, and seconds; and the ticks of the scale.

    Of each: its count; in percent of the scale `low`, which a tenth does not exceed, `width` up to what nine tenths do
    not, and the median; and `said`: the median, nine tenths, and the longest. There may be none of it.
    """
    longest = max((max(values) for *_, values in found if values), default=0)
    end = next((tick for tick in _TICKS if tick >= longest), longest)

    def at(seconds: float) -> float:
        return round(100 * math.log1p(seconds) / math.log1p(end), 2)

    def spread(name: str, kind: str, values: Sequence[int]) -> dict[str, Any]:
        told = {"name": name, "kind": kind, "count": len(values)}
        if not values:
            return {**told, "said": ("–", "–", "–")}
        low, middle, high = (_quantile(values, share) for share in (0.1, 0.5, 0.9))
        said, width = tuple(map(words.span, (middle, high, max(values)))), round(max(0.6, at(high) - at(low)), 2)
        return {**told, "low": at(low), "width": width, "median": at(middle), "said": said}

    ticks = [Tick(at(tick), words.span(tick)) for tick in _TICKS if tick <= end]
    return [spread(name, kind, sorted(values)) for name, kind, values in found], ticks


def _quantile(values: Sequence[int], share: float) -> int:
    """Return the least of these sorted values that so large a share of them does not exceed."""
    return values[max(0, math.ceil(share * len(values)) - 1)]
