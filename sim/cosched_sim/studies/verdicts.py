"""Verdicts by intervals, which treat agreement and miss alike.

What is said to lie in a range (by a paper, or by what was asked) holds if all of our interval lies there, fails if none
of it does, and else is open. What says several things holds if all of them do, fails if one does, and else is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, TypeAlias

from cosched.words.quantities import count as count_of
from cosched_sim.results.estimate import Estimate

LEAST = 5  # replications of a comparison: with fewer, intervals that hold together would show nothing
HOLDS, OPEN, FAILS = "holds", "open", "fails"
UNKNOWN = "no result"
GOOD = {HOLDS: True, FAILS: False}  # the others are neither

MOST_LISTED = 3  # exceptions
TIE = "a tie"
ALONE = {FAILS: "none of its interval fits", OPEN: "its interval leaves it open"}  # of a claim about one number

Named: TypeAlias = tuple[str, Estimate | None]
"""An estimate and its place ("HH at 0.5")."""


@dataclass(frozen=True, slots=True)
class Range:
    """The values that fit: from `low` to `high`, but for those ends that are named in `without`."""

    low: float = -math.inf
    high: float = math.inf
    without: tuple[float, ...] = ()

    def side(self, value: float) -> int:
        """Return 0 if a value fits, -1 if it is too low, and 1 if it is too high."""
        if value < self.low or (value == self.low and value in self.without):
            return -1
        return int(value > self.high or (value == self.high and value in self.without))

    def decides(self, value: Estimate) -> str:
        """Return HOLDS if all of an interval fits, FAILS if none of it does, and else OPEN."""
        low, high = self.side(value.low), self.side(value.high)
        if low != high:
            return OPEN
        return FAILS if low else HOLDS


POSITIVE = Range(0, without=(0,))
NOT_NEGATIVE = Range(0)


def above(low: float) -> Range:
    """Return the values that are greater."""
    return Range(low, without=(low,))


def below(high: float) -> Range:
    """Return the values that are less."""
    return Range(high=high, without=(high,))


def all_hold(words: Iterable[str]) -> str:
    """Return the verdict on what consists of several: it fails if one fails, and is open if one of the others is."""
    there = set(words)
    if FAILS in there:
        return FAILS
    return HOLDS if there == {HOLDS} else OPEN


def one_holds(words: Iterable[str]) -> str:
    """Return the verdict on what one of several brings."""
    return opposite(all_hold(map(opposite, words)))


def opposite(word: str) -> str:
    """Return the verdict on the contrary."""
    return {HOLDS: FAILS, FAILS: HOLDS}.get(word, OPEN)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a claim holds here (`word`: HOLDS, OPEN or FAILS), what was found, what does not hold, and the cause."""

    word: str
    ours: str
    reason: str = ""
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether all that the claim says is as it says."""
        return self.word == HOLDS


def all_of(named: Iterable[Named], fits: Range, unit: str = "") -> Verdict:
    """Decide whether every estimate fits, by all of its interval; those without results leave it open."""
    everything = list(named)
    there = [(name, value) for name, value in everything if value is not None]
    if not there:
        return missing()
    by: dict[str, list[str]] = {word: [] for word in (HOLDS, FAILS, OPEN, UNKNOWN)}
    for name, value in everything:
        word = UNKNOWN if value is None else fits.decides(value)
        by[word].append(name if value is None else f"{name} ({_told(value, fits, unit)})")
    verdict = Verdict(all_hold(word for word, of in by.items() if of), spread([value for _, value in there], unit))
    del by[HOLDS]
    if len(everything) == 1 and not verdict.holds:
        tie = _told(there[0][1], fits, unit) == TIE
        return replace(verdict, reason=TIE if tie else ALONE[verdict.word])
    told = (f"{len(of)} of {len(everything)} {_is(word, len(of))}: {_listed(of)}" for word, of in by.items() if of)
    return replace(verdict, reason="; ".join(told))


def positive(named: Iterable[Named], unit: str = "") -> Verdict:
    """Decide whether every difference is above 0."""
    return all_of(named, POSITIVE, unit)


def parts(*verdicts: tuple[str, Verdict], one: bool = False) -> Verdict:
    """Decide a claim of several parts, by their names: it holds if all do, or if `one` does."""
    word = (one_holds if one else all_hold)(verdict.word for _, verdict in verdicts)
    ours, reason = (
        "; ".join(f"{name}: {text}" if name else text for name, text in told if text)
        for told in ([(n, v.ours) for n, v in verdicts], [(n, v.reason) for n, v in verdicts])
    )
    return Verdict(word, ours, "" if word == HOLDS else reason)


def decided(word: str, ours: str, fails: str, still: str) -> Verdict:
    """Return a verdict, with what it says if the claim fails, or is open still."""
    return Verdict(word, ours, {FAILS: fails, OPEN: still}.get(word, ""))


def counted(ours: str, exceptions: str) -> Verdict:
    """Decide what was counted in all cases, which has no interval: it holds if there are no exceptions."""
    return Verdict(FAILS if exceptions else HOLDS, ours, exceptions)


def tally(words: Mapping[str, str], what: str) -> Verdict:
    """Decide a claim that is about each of several places, by their verdicts: say of how many of `what` it holds."""
    if not words:
        return missing()
    by = {word: [name for name, of in words.items() if of == word] for word in (HOLDS, OPEN, FAILS)}
    still = f", {len(by[OPEN])} open" if by[OPEN] else ""
    ours, word = f"{len(by[HOLDS])} of {len(words)} {what}{still}", all_hold(words.values())
    told = [("fails: ", by[FAILS]), ("open: ", by[OPEN])]
    return Verdict(word, ours, "; ".join(f"{head}{_listed(names)}" for head, names in told if names))


def missing() -> Verdict:
    """Return the verdict for a claim without results."""
    return Verdict(OPEN, "no results", "the cases that would decide gave no results")


def spread(values: Sequence[Estimate], unit: str = "") -> str:
    """Format the range of some means as `least to greatest`."""
    low, high = (choose(values, key=attrgetter("mean")) for choose in (min, max))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def because(verdict: Verdict, why: Callable[[], str]) -> Verdict:
    """Add the cause to a verdict that fails; what is open needs none."""
    return replace(verdict, why=why()) if verdict.word == FAILS else verdict


def _told(value: Estimate, fits: Range, unit: str) -> str:
    tie = value.low == value.high == value.mean and value.mean in fits.without
    return TIE if tie else f"{value}{unit}"


def _is(word: str, number: int) -> str:
    if word == FAILS:
        return "fails" if number == 1 else "fail"
    verb = "is" if number == 1 else "are"
    return f"{verb} open" if word == OPEN else f"{'has' if number == 1 else 'have'} no results"


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:MOST_LISTED], *["..."] * (len(names) > MOST_LISTED)])


def inconclusive(said: Mapping[str, Any], count: int) -> str:
    """Say why nobody should conclude from a study with so many replications; empty if one may."""
    if said["quick"]:
        return f"Not for conclusions: a quick run, with {count_of(count, 'replication')}."
    return f"Not for conclusions: fewer than {LEAST} replications." if count < LEAST else ""
