"""The combinations of the domains' schemes that a comparison replays. Imports nothing of the simulation itself."""

from __future__ import annotations

import itertools

from cosched.core.settings import Scheme
from cosched.errors import InputError

NONE = "none"
MAX_DOMAINS = 6


def combinations(domains: int) -> dict[str, tuple[Scheme, ...]]:
    """Return the schemes by name: 'none' (all off), then 'HH', 'HY', ... with a letter for each domain.

    InputError for fewer than two domains, or so many that there would be too many combinations.
    """
    if not 2 <= domains <= MAX_DOMAINS:
        raise InputError("--compare", None, f"compares the schemes of 2 to {MAX_DOMAINS} domains, not of {domains}")
    named = {NONE: (Scheme.OFF,) * domains}
    for schemes in itertools.product((Scheme.HOLD, Scheme.YIELD), repeat=domains):
        named["".join(scheme[0].upper() for scheme in schemes)] = schemes
    return named
