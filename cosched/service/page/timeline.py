"""The lanes of jobs on one time axis: what is drawn, in percent of the axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cosched.client import Event, Job
from cosched.service.page.words import span as _span

SPANS = {"15m": 900, "1h": 3600, "6h": 6 * 3600, "1d": 86400, "7d": 7 * 86400}  # what is shown of the past
FUTURE = 4  # of the past's length, at least this part is shown of the future of a job that goes on
NOW_AT = 0.2  # of the axis of many jobs
EVEN = 3600  # seconds ahead of it that are not compressed
_LEAST_AHEAD, _MOST_AHEAD = 900, 2 * 86400  # seconds
_AHEAD = 1.08  # so that what is expected last has room
_APART = 9  # percent, between ticks
_MARGIN = 0.03  # of an axis of given instants, before and after them
_SHORTEST = timedelta(minutes=1)
_STEPS = (10, 30, 60, 120, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800)  # between ticks, in seconds
_MOST_TICKS = 6
_LEAST = 0.4  # percent: what is shorter can still be seen
_HOLD_ENDS = ("released", "started", "ended", "unlinked")


@dataclass(frozen=True, slots=True)
class Bar:
    """A span of a lane, or a mark (its width is 0): `kind` is its class in the style sheet; `said` stands beside it."""

    kind: str
    x: float
    width: float
    said: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the axis, with its label."""

    x: float
    label: str


class Axis:
    """An axis of time, from the past to a little of the future."""

    def __init__(self, now: datetime, begin: datetime, end: datetime) -> None:
        self.now = now
        self.begin, self.end = begin, end
        self._seconds = (end - begin).total_seconds()

    @classmethod
    def over(cls, now: datetime, instants: Iterable[datetime | None]) -> Axis:
        """Return an axis on which these instants are; without any, the present."""
        known = [at for at in instants if at is not None] or [now]
        length = max(max(known) - min(known), _SHORTEST)
        return cls(now, min(known) - _MARGIN * length, min(known) + (1 + _MARGIN) * length)

    @property
    def now_at(self) -> float | None:
        """Where the present is; None: not on the axis."""
        return self.at(self.now) if self.begin <= self.now <= self.end else None

    def at(self, instant: datetime) -> float:
        """Return the place of an instant; those outside are at the ends."""
        return round(100 * min(1.0, max(0.0, self._share(instant))), 2)

    def _share(self, instant: datetime) -> float:
        return (instant - self.begin).total_seconds() / self._seconds

    def bar(self, kind: str, begin: datetime, end: datetime) -> Iterator[Bar]:
        """Yield a bar for a span, unless it is outside."""
        if end >= self.begin and begin <= self.end:
            x = self.at(begin)
            yield Bar(kind, min(x, 100 - _LEAST), round(max(self.at(end) - x, _LEAST), 2))

    def ticks(self) -> list[Tick]:
        """Return ticks at round times, in UTC."""
        step = next(step for step in _STEPS if self._seconds / step <= _MOST_TICKS or step == _STEPS[-1])
        first = int(self.begin.timestamp()) // step * step + step
        instants = [datetime.fromtimestamp(at, UTC) for at in range(first, int(self.end.timestamp()), step)]
        pattern = "%a %d" if step >= 86400 else "%a %H:%M" if self._seconds > 86400 else "%H:%M"
        pattern += ":%S" if step < 60 else ""
        return [Tick(self.at(instant), instant.strftime(pattern)) for instant in instants]


class Outlook(Axis):
    """The axis of many jobs: a fifth of it is past, and the rest as far ahead as their starts are expected.

    What is more than an hour ahead is compressed, the more the farther.
    """

    def __init__(self, now: datetime, past: str, ahead: Iterable[datetime] = ()) -> None:
        """`past`: one of the SPANS; `ahead`: what should be seen of the future, up to two days."""
        seconds = [_AHEAD * (at - now).total_seconds() for at in ahead]
        self._ahead = max(_LEAST_AHEAD, *(min(one, _MOST_AHEAD) for one in seconds), 0)
        super().__init__(now, now - timedelta(seconds=SPANS[past]), now + timedelta(seconds=self._ahead))

    def _share(self, instant: datetime) -> float:
        ahead = (instant - self.now).total_seconds()
        if ahead <= 0:
            return NOW_AT * (1 + ahead / (self.now - self.begin).total_seconds())
        return NOW_AT + (1 - NOW_AT) * _compressed(ahead) / _compressed(self._ahead)

    def ticks(self) -> list[Tick]:
        """Return ticks at round times from now on, and where the past begins."""
        past = (self.now - self.begin).total_seconds()
        ticks, last = [Tick(0.0, f"-{_span(past)}")], 100 * NOW_AT
        for seconds in sorted((60, 600, *_STEPS[3:])):
            x = self.at(self.now + timedelta(seconds=seconds))
            if seconds <= self._ahead and last + _APART <= x <= 100 - _APART / 2:
                ticks.append(Tick(x, f"+{_span(seconds)}"))
                last = x
        return ticks


def _compressed(seconds: float) -> float:
    return seconds if seconds <= EVEN else EVEN * (1 + math.log(seconds / EVEN))


def lane(axis: Axis, job: Job, events: Sequence[Event], expected: datetime | None, said: str) -> list[Bar]:
    """Return the bars of a job: queued, held, running, until its limit; its slot or expected start, as is `said`."""
    if job.slot is not None or job.started_at is not None or job.ended_at is not None:
        expected = None
    return [
        *_waited(axis, job), *_held(axis, job, events), *_ran(axis, job),
        *_readied(axis, job, events), *start_of(axis, job.slot, expected, said),
    ]  # fmt: skip


def start_of(axis: Axis, slot: datetime | None, expected: datetime | None, said: str) -> Iterator[Bar]:
    """Yield the mark of a start to come: where it is, or at the edge if it lies beyond."""
    kind, at = ("slot", slot) if slot is not None else ("expected", expected)
    if at is not None and at >= axis.begin:
        yield Bar(kind, axis.at(at), 0, said) if at <= axis.end else Bar("beyond", 100, 0, said)


def _waited(axis: Axis, job: Job) -> Iterator[Bar]:
    if job.submitted_at is not None:
        yield from axis.bar("queued", job.submitted_at, job.started_at or job.ended_at or axis.now)
        if job.submitted_at < axis.begin and job.ended_at is None:
            yield Bar("before", 0, 0)


def _held(axis: Axis, job: Job, events: Sequence[Event]) -> Iterator[Bar]:
    since = None
    for event in events:
        if event.kind == "held" and since is None:
            since = event.at
        elif event.kind in _HOLD_ENDS and since is not None and event.at is not None:
            yield from axis.bar("held", since, event.at)
            since = None
    if since is None:
        return
    if job.state == "holding" and job.holds.until is not None:
        yield from axis.bar("booked", axis.now, job.holds.until)
    if over := job.started_at or job.ended_at or (axis.now if job.state in ("holding", "ready") else None):
        yield from axis.bar("held", since, over)


def _ran(axis: Axis, job: Job) -> Iterator[Bar]:
    begin = job.started_at or job.slot
    if begin is None:
        return
    if job.started_at is not None:
        yield from axis.bar("ran", begin, job.ended_at or axis.now)
    end = job.expected_end or begin + (job.time_limit or timedelta())
    if job.ended_at is None and end > axis.now:
        yield from axis.bar("planned", max(begin, axis.now), end)


def _readied(axis: Axis, job: Job, events: Sequence[Event]) -> Iterator[Bar]:
    instants = [job.ready_at, *(event.at for event in events if event.kind == "ready" and event.at != job.ready_at)]
    for instant in instants:
        if instant is not None and axis.begin <= instant <= axis.end:
            yield Bar("ready", axis.at(instant), 0)
