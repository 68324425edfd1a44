"""How long things took: their spreads on one scale of time, which is compressed, and as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cosched.service.page import words
from cosched.service.page.timeline import Tick

_TICKS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)  # seconds


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took: places in percent of the scale, and the same in words; none of it: there was none."""

    name: str
    kind: str  # its class in the style sheet
    count: int
    low: float  # a tenth took no longer
    width: float  # up to what nine tenths took at most
    median: float
    said: tuple[str, str, str]  # median, nine tenths, longest


def spreads(found: Sequence[tuple[str, str, Sequence[int]]]) -> tuple[list[Spread], list[Tick]]:
    """Return the spreads of seconds, given by name, kind and values, and the ticks of their scale."""
    longest = max((max(values) for *_, values in found if values), default=0)
    end = next((tick for tick in _TICKS if tick >= longest), longest)

    def at(seconds: float) -> float:
        return round(100 * math.log1p(seconds) / math.log1p(end), 2)

    def spread(name: str, kind: str, values: Sequence[int]) -> Spread:
        if not values:
            return Spread(name, kind, 0, 0, 0, 0, ("–", "–", "–"))
        low, middle, high = (_quantile(values, share) for share in (0.1, 0.5, 0.9))
        said = (words.span(middle), words.span(high), words.span(max(values)))
        return Spread(name, kind, len(values), at(low), round(max(0.6, at(high) - at(low)), 2), at(middle), said)

    ticks = [Tick(at(tick), words.span(tick)) for tick in _TICKS if tick <= end]
    return [spread(name, kind, sorted(values)) for name, kind, values in found], ticks


def _quantile(values: Sequence[int], share: float) -> int:
    """Return the least of these sorted values that so large a share of them does not exceed."""
    return values[max(0, math.ceil(share * len(values)) - 1)]
