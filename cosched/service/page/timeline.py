"""The lanes of jobs on one time axis: what is drawn, in percent of the axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cosched.client import Event, Job

SPANS = {"1h": 3600, "6h": 6 * 3600, "1d": 86400, "7d": 7 * 86400}  # what is shown of the past
FUTURE = 4  # of the past's length, this part is shown of the future
_STEPS = (300, 900, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400)  # between ticks, in seconds
_MOST_TICKS = 6
_LEAST = 0.4  # percent: what is shorter can still be seen
_STARTED, _QUEUED = ("running", "completed", "failed", "cancelled"), ("queued", "ready", "holding")
_HOLD_ENDS = ("released", "started", "ended", "unlinked")


def span_of(age: float) -> str:
    """Return the shortest of the spans that reaches so many seconds back; the longest, if none does."""
    return next((past for past, seconds in SPANS.items() if age <= seconds), list(SPANS)[-1])


@dataclass(frozen=True, slots=True)
class Bar:
    """A span of a lane: `kind` is its class in the style sheet."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the axis, with its label."""

    x: float
    label: str


class Axis:
    """An axis of time, from the past to a little of the future."""

    def __init__(self, now: datetime, past: timedelta, future: timedelta) -> None:
        self.now = now
        self.begin, self.end = now - past, now + future
        self._seconds = (self.end - self.begin).total_seconds()

    @classmethod
    def of(cls, now: datetime, past: str) -> Axis:
        """Return the axis of one of the SPANS."""
        length = timedelta(seconds=SPANS[past])
        return cls(now, length, length / FUTURE)

    @property
    def now_at(self) -> float:
        """Where the present is."""
        return self.at(self.now)

    def at(self, instant: datetime) -> float:
        """Return the place of an instant; those outside are at the ends."""
        place = 100 * (instant - self.begin).total_seconds() / self._seconds
        return round(min(100.0, max(0.0, place)), 2)

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
        return [Tick(self.at(instant), instant.strftime(pattern)) for instant in instants]


def lane(axis: Axis, job: Job, events: Sequence[Event]) -> list[Bar]:
    """Return the bars of a job: queued, held, running, and from now on until the end of its limit; its slot."""
    return [*_waited(axis, job), *_held(axis, job, events), *_ran(axis, job), *_marks(axis, job, events)]


def _waited(axis: Axis, job: Job) -> Iterator[Bar]:
    if job.submitted_at is not None:
        yield from axis.bar("queued", job.submitted_at, job.started_at or job.ended_at or axis.now)


def _held(axis: Axis, job: Job, events: Sequence[Event]) -> Iterator[Bar]:
    since = None
    for event in events:
        if event.kind == "held" and since is None:
            since = event.at
        elif event.kind in _HOLD_ENDS and since is not None and event.at is not None:
            yield from axis.bar("held", since, event.at)
            since = None
    if since is not None:
        over = job.started_at or job.ended_at or (axis.now if job.state in ("holding", "ready") else None)
        if over is not None:
            yield from axis.bar("held", since, over)


def _ran(axis: Axis, job: Job) -> Iterator[Bar]:
    begin, limit = job.started_at or job.slot, job.time_limit or timedelta()
    if begin is None:
        return
    if job.started_at is not None:
        yield from axis.bar("ran", begin, job.ended_at or axis.now)
    if job.ended_at is None and begin + limit > axis.now:
        yield from axis.bar("planned", max(begin, axis.now), begin + limit)


def _marks(axis: Axis, job: Job, events: Sequence[Event]) -> Iterator[Bar]:
    instants = [("ready", job.ready_at), ("slot", job.slot)]
    instants += [("ready", event.at) for event in events if event.kind == "ready" and event.at != job.ready_at]
    for kind, instant in instants:
        if instant is not None and axis.begin <= instant <= axis.end:
            yield Bar(kind, axis.at(instant), 0)
