"""A domain's scheme as a site writes it. `meet` is a preset: yield, a budget for wanted jobs, and slots (meet.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from cosched.core.settings import Scheme

MAX_BUDGET = 10
BUDGET_DIGITS = 6  # after the point; the scheduler counts in millionths
NO_BOUND = Decimal(1)  # all jobs of an owner
SHARE = Decimal("0.9")  # of them, by default; of those who mean well hardly anyone reaches it (tests/bench/bounds.py)


class SchemeChoice(StrEnum):
    """What `scheme` may be: one of the core's schemes, or the preset."""

    HOLD = "hold"
    YIELD = "yield"
    OFF = "off"
    MEET = "meet"

    @property
    def core(self) -> Scheme:
        """The scheme for the rules of coscheduling."""
        return Scheme.YIELD if self is SchemeChoice.MEET else Scheme(self.value)


@dataclass(frozen=True, slots=True)
class Meeting:
    """How a domain's pairs meet: by which share of its wait wanted jobs may delay the first job, and by slots.

    `mate_budget_share`: which share of an owner's jobs may start so; only services bound it.
    """

    mate_budget: Decimal = Decimal(0)
    slots: bool = False
    mate_budget_share: Decimal = NO_BOUND

    def __bool__(self) -> bool:
        """Return whether they do at all."""
        return self.slots or self.mate_budget > 0

    @property
    def texts(self) -> dict[str, str]:
        """Return the settings as texts by key."""
        bound = {} if self.mate_budget_share == NO_BOUND else {"mate_budget_share": f"{self.mate_budget_share:f}"}
        return {"mate_budget": f"{self.mate_budget:f}", "slots": "on" if self.slots else "off", **bound}


def in_words(scheme: str, settings: Mapping[str, Any]) -> str:
    """Describe a scheme; of `settings`, in which `Meeting.texts` may be, only what the scheme does not say itself."""
    preset = (PRESET if scheme == SchemeChoice.MEET else NOT_MEETING).texts
    if Decimal(settings.get("mate_budget", preset["mate_budget"]) or 0):
        preset = {**preset, "mate_budget_share": f"{SHARE:f}"}
    own = [f"{key} {settings[key]}" for key in preset if settings.get(key, preset[key]) != preset[key]]
    return ", ".join([f"scheme {scheme}", *own])


PRESET = Meeting(Decimal("0.5"), slots=True)
NOT_MEETING = Meeting()


def checked_budget(value: Decimal) -> Decimal:
    """Return a mate budget that can be used; ValueError."""
    if not 0 <= value <= MAX_BUDGET:
        raise ValueError(f"{value} is not between 0 and {MAX_BUDGET}; {PRESET.mate_budget} is usual")
    return _rounded(value)


def checked_share(value: Decimal) -> Decimal:
    """Return a share of a mate budget that can be used; ValueError."""
    if not 0 <= value <= 1:
        raise ValueError(f"{value} is not between 0 and 1 (1: unlimited)")
    return _rounded(value)


def _rounded(value: Decimal) -> Decimal:
    if value != round(value, BUDGET_DIGITS):
        raise ValueError(f"{value} has more than {BUDGET_DIGITS} digits after the point: round it")
    return value
