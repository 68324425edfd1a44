"""How far a peer's wall clock is ahead of this host's, from the heartbeats (RFC 5905, sections 8 and 10).

A comparison of clocks has four readings: when we asked, when the peer got that, when it answered, when we got that. The
readings here are taken from a steady clock, and turned into those of the wall clock when somebody asks for the offset:
so a step of the wall clock here spoils no comparison. A step of the peer's shows as soon as a comparison contradicts
the ones before, which are forgotten then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cosched.service.clock import boottime

KEPT = 8  # comparisons, as in RFC 5905
MAX_AGE = 300.0  # seconds for which a comparison counts
DRIFT = 30e-6  # seconds in a second by which two clocks may drift apart, twice the tolerance of RFC 5905


class Offset(NamedTuple):
    """Seconds by which a clock is `ahead` of another, which may be wrong by `uncertainty`, either way."""

    ahead: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of a peer's wall clock with the steady clock here, read at `at`."""

    at: float
    ahead: float
    half_trip: float  # half of what the question and the answer took on their ways, together

    def uncertainty(self, now: float) -> float:
        """Seconds by which `ahead` may be wrong by `now`, either way."""
        return self.half_trip + DRIFT * (now - self.at)

    def contradicts(self, later: Comparison) -> bool:
        """Whether one of the clocks was set between the two."""
        return abs(self.ahead - later.ahead) > self.uncertainty(later.at) + later.half_trip


def compare(asked: float, received: float, answered: float, heard: float) -> Comparison | None:
    """From our readings `asked` and `heard`, the peer's `received` and `answered`, in this order, in seconds.

    None if the peer had the question for longer than we waited, or for less than no time: its clock was set meanwhile.
    """
    half_trip = ((heard - asked) - (answered - received)) / 2
    if answered < received or half_trip < 0:
        return None
    return Comparison(heard, ((received - asked) + (answered - heard)) / 2, half_trip)


class ClockOffset:
    """The offset of one peer's wall clock, from the last comparisons."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = boottime) -> None:
        """`wall`: the clock that the peer's is compared with; `steady`: one that is never set."""
        self._wall = wall
        self.steady = steady
        self._comparisons: list[Comparison] = []

    def add(self, asked: float, received: float, answered: float) -> None:
        """An answer has just come: `asked` by our steady clock, `received` and `answered` by the peer's wall clock."""
        comparison = compare(asked, received, answered, self.steady())
        if comparison is None:
            return
        kept = [known for known in self._comparisons if not known.contradicts(comparison)]
        self._comparisons = [*kept, comparison][-KEPT:]

    @property
    def now(self) -> Offset | None:
        """The offset by the comparison with the least uncertainty; None: not known."""
        before = self.steady()
        wall = self._wall()
        after = self.steady()
        recent = [known for known in self._comparisons if after - known.at <= MAX_AGE]
        if not recent:
            return None
        best = min(recent, key=lambda known: known.uncertainty(after))
        wall_ahead, pause = wall - (before + after) / 2, after - before
        return Offset(best.ahead - wall_ahead, best.uncertainty(after) + pause / 2)
