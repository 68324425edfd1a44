"""Qualitative claims of a paper, and how they are checked against results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cosched.sim.results.estimate import Estimate

MOST_LISTED = 3  # exceptions

Results = TypeVar("Results")

Named: TypeAlias = tuple[str, Estimate | None]
"""An estimate and its place ("HH at 0.5")."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a claim holds here, and what was found; if it does not hold, also where it fails, or the cause."""

    holds: bool
    ours: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim(Generic[Results]):
    """A claim: its place in the paper, its words (`quote`), and the test (`criterion` in words, `check` as code)."""

    where: str
    text: str
    quote: str
    criterion: str
    check: Callable[[Results], Verdict]


def all_of(named: Iterable[Named], fits: Callable[[Estimate], bool], unit: str = "") -> Verdict:
    """Hold if every estimate fits. The reason names those that do not, and counts those too uncertain to decide."""
    there = [(name, value) for name, value in named if value is not None]
    if not there:
        return missing()
    exceptions = [(name, value) for name, value in there if not fits(value)]
    ours = spread([value for _, value in there], unit)
    if not exceptions:
        return Verdict(True, ours)
    listed = ", ".join(f"{name} ({value}{unit})" for name, value in exceptions[:MOST_LISTED])
    more = ", ..." if len(exceptions) > MOST_LISTED else ""
    return Verdict(
        False, ours, f"{len(exceptions)} of {len(there)} do not: {listed}{more}{_undecided(exceptions, fits)}"
    )


def positive(named: Iterable[Named], unit: str = "") -> Verdict:
    """Hold if every difference is above 0."""
    return all_of(named, lambda value: value.mean > 0, unit)


def missing() -> Verdict:
    """Return the verdict for a claim without results."""
    return Verdict(False, "no results", "the cases that would decide gave no results")


def spread(values: Sequence[Estimate], unit: str = "") -> str:
    """Format the range of some means as `least to greatest`."""
    low, high = min(values, key=_mean), max(values, key=_mean)
    return f"{low}{unit}" if len(values) == 1 else f"{low} to {high}{unit}"


def because(verdict: Verdict, reason: Callable[[], str]) -> Verdict:
    """Add a reason to a verdict that does not hold."""
    if verdict.holds:
        return verdict
    return Verdict(False, verdict.ours, f"{verdict.reason}; {reason()}" if verdict.reason else reason())


def mean_of(values: Iterable[Estimate | None]) -> float:
    """Return the mean of some means; 0 if there are none."""
    there = [value.mean for value in values if value is not None]
    return sum(there) / len(there) if there else 0.0


def _undecided(exceptions: Sequence[tuple[str, Estimate]], fits: Callable[[Estimate], bool]) -> str:
    """Say how many exceptions would fit at an end of their interval."""
    number = sum(fits(Estimate(value.low)) or fits(Estimate(value.high)) for _, value in exceptions)
    if not number:
        return ""
    return "; their intervals leave it open" if number == len(exceptions) else f"; {number} within their intervals"


def _mean(value: Estimate) -> float:
    return value.mean
