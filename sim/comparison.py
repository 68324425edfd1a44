"""The same replay without coscheduling and under every combination of the domains' schemes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from cosched.core.settings import Scheme
from cosched.errors import InputError
from sim.replaying import Replay
from sim.results import ReplayResult

NONE = "none"
COMPARISON = "comparison.json"  # all summaries by the name of their combination
MAX_DOMAINS = 6


def combinations(domains: int) -> dict[str, tuple[Scheme, ...]]:
    """Schemes by name: 'none' (all off), then 'HH', 'HY', ... with a letter for each domain.

    InputError for fewer than two domains, and for so many that the combinations would be too many.
    """
    if not 2 <= domains <= MAX_DOMAINS:
        raise InputError("--compare", None, f"compares the schemes of 2 to {MAX_DOMAINS} domains, not of {domains}")
    named = {NONE: (Scheme.OFF,) * domains}
    for schemes in itertools.product((Scheme.HOLD, Scheme.YIELD), repeat=domains):
        named["".join(scheme[0].upper() for scheme in schemes)] = schemes
    return named


def compare(replay: Replay) -> Iterator[ReplayResult]:
    """Simulate every combination in this order, each when it is asked for: only one need be in memory."""
    for schemes in combinations(len(replay.config.domains)).values():
        yield replay.run(schemes)
