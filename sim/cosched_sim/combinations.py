"""The combinations of the domains' schemes that a comparison replays. Imports nothing of the simulation itself."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from cosched.validation.schemes import SchemeChoice
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched_sim.configuration import ReplayConfig

NONE = "none"
MAX_DOMAINS = 6
MAX_MEETING = 4  # domains, where each may meet, too
COSCHEDULING = tuple(scheme for scheme in SchemeChoice if scheme is not SchemeChoice.OFF)


def letter_of(scheme: SchemeChoice) -> str:
    """Return the letter of a scheme in the names of combinations."""
    return scheme[0].upper()


def combinations(domains: int, *, meet: bool = False) -> dict[str, tuple[SchemeChoice, ...]]:
    """Return the schemes by name: 'none' (all off), then 'HH', 'HY', ... with a letter for each domain.

    `meet`: those with M, too. InputError for fewer than two domains, or so many that there would be too many
    combinations.
    """
    schemes = [scheme for scheme in COSCHEDULING if meet or scheme is not SchemeChoice.MEET]
    most = MAX_MEETING if meet else MAX_DOMAINS
    if not 2 <= domains <= most:
        raise InputError("--compare", None, f"compares the schemes of 2 to {most} domains, not of {domains}")
    named = {NONE: (SchemeChoice.OFF,) * domains}
    for chosen in itertools.product(schemes, repeat=domains):
        named["".join(map(letter_of, chosen))] = chosen
    return named


def compared(config: ReplayConfig) -> dict[str, tuple[SchemeChoice, ...]]:
    """Return the combinations that a comparison of this replay has: with M if one of its domains meets. InputError."""
    meet = any(domain.scheme is SchemeChoice.MEET for domain in config.domains)
    return combinations(len(config.domains), meet=meet)
