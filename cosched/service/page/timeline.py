"""The lanes of jobs on one time axis: what is drawn, in percent of the axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cosched.client import Event, Job

SPANS = {"15m": 900, "1h": 3600, "6h": 6 * 3600, "1d": 86400, "7d": 7 * 86400}  # what is shown of the past
FUTURE = 4  # of the past's length, at least this part is shown of the future, and at most as much as of the past
_MARGIN = 0.03  # of an axis of given instants, before and after them
_SHORTEST = timedelta(minutes=1)
_STEPS = (10, 30, 60, 120, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800)  # between ticks, in seconds
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

    def __init__(self, now: datetime, begin: datetime, end: datetime) -> None:
        self.now = now
        self.begin, self.end = begin, end
        self._seconds = (end - begin).total_seconds()

    @classmethod
    def of(cls, now: datetime, past: str, ahead: Iterable[datetime] = ()) -> Axis:
        """Return the axis of one of the SPANS; `ahead`: what should be seen of the future, if there is room."""
        length = timedelta(seconds=SPANS[past])
        future = max(length / FUTURE, *(1.1 * (at - now) for at in ahead if at - now < length), timedelta())
        return cls(now, now - length, now + future)

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
        pattern += ":%S" if step < 60 else ""
        return [Tick(self.at(instant), instant.strftime(pattern)) for instant in instants]


def lane(axis: Axis, job: Job, events: Sequence[Event], expected: datetime | None = None) -> list[Bar]:
    """Return the bars of a job: queued, held, running, and until the end of its limit; its slot, or expected start."""
    if job.slot is not None or job.started_at is not None or job.ended_at is not None:
        expected = None
    return [
        *_waited(axis, job), *_held(axis, job, events), *_ran(axis, job, expected),
        *_marks(axis, job, events, expected),
    ]  # fmt: skip


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


def _ran(axis: Axis, job: Job, expected: datetime | None) -> Iterator[Bar]:
    begin = job.started_at or job.slot or expected
    if begin is None:
        return
    if job.started_at is not None:
        yield from axis.bar("ran", begin, job.ended_at or axis.now)
    end = job.expected_end or begin + (job.time_limit or timedelta())
    if job.ended_at is None and end > axis.now:
        yield from axis.bar("planned", max(begin, axis.now), end)


def _marks(axis: Axis, job: Job, events: Sequence[Event], expected: datetime | None) -> Iterator[Bar]:
    instants = [("ready", job.ready_at), ("slot", job.slot), ("expected", expected)]
    instants += [("ready", event.at) for event in events if event.kind == "ready" and event.at != job.ready_at]
    for kind, instant in instants:
        if instant is not None and axis.begin <= instant <= axis.end:
            yield Bar(kind, axis.at(instant), 0)
