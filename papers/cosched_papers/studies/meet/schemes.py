"""The combinations that the study compares: a letter for each domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cosched_papers.studies.tang2011.setup import BASE, SCHEMES, Settings

MEET = "MM"
BUDGET_ALONE, SLOTS_ALONE = "BB", "SS"
PARTS = (BUDGET_ALONE, SLOTS_ALONE)
MIXED = ("MY", "YM", "MH", "HM", "MO", "OM")  # meet on one side only
FEW = (BASE, *SCHEMES, MEET)
MOST = (*FEW, *PARTS)
OF_THREE = (BASE, "HHH", "YYY", "HYM", "MMM")

LETTERS: Mapping[str, Mapping[str, Any]] = {
    "H": {"scheme": "hold"},
    "Y": {"scheme": "yield"},
    "M": {"scheme": "meet"},
    "B": {"scheme": "yield", "mate_budget": "0.5"},
    "S": {"scheme": "yield", "slots": True},
    "O": {"scheme": "off"},
}


def under(settings: Settings, schemes: str) -> Settings:
    """Return a replay's settings with the domains' schemes, whatever they were before."""
    if schemes == BASE:
        return {**settings, "domains": [_off(domain) for domain in settings["domains"]]}
    domains = [{**domain, **LETTERS[letter]} for domain, letter in zip(settings["domains"], schemes, strict=True)]
    return {**settings, "domains": domains}


def _off(domain: Mapping[str, Any]) -> Settings:
    """Return a domain's settings without any of coscheduling's parts, so that all cases of a workload have one base."""
    return {**{key: value for key, value in domain.items() if key not in ("mate_budget", "slots")}, **LETTERS["O"]}


def everybody_meets(schemes: str) -> bool:
    """Return whether all machines meet."""
    return set(schemes) == {"M"}


def of_the_paper(schemes: str) -> bool:
    """Return whether all machines hold or yield."""
    return schemes != BASE and set(schemes) <= set("HY")
