"""Measures how far a peer's wall clock is ahead of ours, by heartbeats (RFC 5905, sections 8 and 10).

A comparison has four readings: when we asked, when the peer got the question, when it answered, when we got the answer.
Our readings are from a steady clock, and are converted to the wall clock when somebody asks for the offset. So a step
of our wall clock spoils no comparison. A step of the peer's clock shows when a comparison contradicts the earlier ones,
which are dropped then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cosched.service.clock import boottime

KEPT = 8  # comparisons, as in RFC 5905
MAX_AGE = 300.0  # seconds that a comparison counts
DRIFT = 30e-6  # seconds per second that two clocks may drift apart: twice the tolerance of RFC 5905


class Offset(NamedTuple):
    """How many seconds a clock is `ahead` of another, plus or minus `uncertainty` seconds."""

    ahead: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a peer's wall clock with our steady clock, at `at` by the latter."""

    at: float
    ahead: float
    half_trip: float  # half of the time that question and answer travelled, together

    def uncertainty(self, now: float) -> float:
        """Return by how many seconds, plus or minus, `ahead` may be wrong at `now`."""
        return self.half_trip + DRIFT * (now - self.at)

    def contradicts(self, later: Comparison) -> bool:
        """Return whether one of the clocks must have been set between the two comparisons."""
        return abs(self.ahead - later.ahead) > self.uncertainty(later.at) + later.half_trip


def compare(asked: float, received: float, answered: float, heard: float) -> Comparison | None:
    """Compare by our readings `asked` and `heard` and the peer's `received` and `answered`, in seconds.

    None if the peer's clock was set meanwhile: its readings go back, or are further apart than ours.
    """
    half_trip = ((heard - asked) - (answered - received)) / 2
    if answered < received or half_trip < 0:
        return None
    return Comparison(heard, ((received - asked) + (answered - heard)) / 2, half_trip)


class ClockOffset:
    """The offset of one peer's wall clock, by the last comparisons."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = boottime) -> None:
        """`wall`: our clock for the offset; `steady`: a clock that is never set."""
        self._wall = wall
        self.steady = steady
        self._comparisons: list[Comparison] = []

    def add(self, asked: float, received: float, answered: float) -> None:
        """Add an answer that has just come: `asked` by our steady clock, `received` and `answered` by the peer's."""
        comparison = compare(asked, received, answered, self.steady())
        if comparison is None:
            return
        kept = [known for known in self._comparisons if not known.contradicts(comparison)]
        self._comparisons = [*kept, comparison][-KEPT:]

    @property
    def now(self) -> Offset | None:
        """Return the offset by the comparison with the least uncertainty; None if it is unknown."""
        before = self.steady()
        wall = self._wall()
        after = self.steady()
        recent = [known for known in self._comparisons if after - known.at <= MAX_AGE]
        if not recent:
            return None
        best = min(recent, key=lambda known: known.uncertainty(after))
        wall_ahead, pause = wall - (before + after) / 2, after - before
        return Offset(best.ahead - wall_ahead, best.uncertainty(after) + pause / 2)
