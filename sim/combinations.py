"""The combinations of the domains' schemes that a comparison replays. Imports nothing that simulates."""

from __future__ import annotations

import itertools

from cosched.core.settings import Scheme
from cosched.errors import InputError

NONE = "none"
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
