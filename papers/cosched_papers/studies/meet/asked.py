"""The figures that meet was to reach in section V's set-up, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cosched_papers.studies.meet.experiments import BY_LOAD, BY_SHARE
from cosched_papers.studies.meet.measuring import HELD, NEVER, PAIR_LONGEST, PAIR_WAIT, PAIRS, TOGETHER, WAIT
from cosched_papers.studies.meet.schemes import MEET
from cosched_papers.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES, SHARES
from cosched_sim.results.estimate import Estimate, shown
from cosched_sim.studies.measured import Measured, Place
from cosched_sim.studies.verdicts import FAILS, HOLDS, LEAST, OPEN, UNKNOWN, Range

MOST_WAIT = {0.25: 16, 0.5: 22, 0.75: 56}  # minutes, of a pair
MOST_LOSS = 10  # per cent that Eureka's jobs without mates may wait longer than without coscheduling


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: what was asked, what was measured, and whether that holds."""

    what: str
    asked: str
    measured: str
    reached: str


def figures(results: Measured) -> list[Figure]:
    """Return all figures."""
    found: list[Figure] = []
    for load in LOADS:
        found += _of_load(results, load)
    return [*found, *_of_all(results)]


def _of_load(results: Measured, load: float) -> Iterator[Figure]:
    at = f"at Eureka's load {load:g}"
    most, wait = MOST_WAIT[load], results.mean(_place(load, MEET), PAIR_WAIT)
    reached = _at_most(results, load, wait, most)
    yield Figure(f"Wait of a pair {at} (min)", f"at most {most}", _told(wait), reached)
    yield _against_combinations(results, load, at)
    yield _against_base(results, load, at)


def _against_combinations(results: Measured, load: float, at: str) -> Figure:
    """Intrepid's jobs without mates, against the combination under which they wait least."""
    measure = f"{MACHINES[0]} {WAIT}"
    means = {schemes: results.mean(_place(load, schemes), measure) for schemes in (*SCHEMES, MEET)}
    there = {schemes: mean for schemes, mean in means.items() if mean is not None and schemes != MEET}
    what = f"Wait of Intrepid's jobs without mates {at}, beside the best combination (min)"
    if not there:
        return Figure(what, "no more", "–", UNKNOWN)
    best = min(there, key=lambda schemes: there[schemes].mean)
    more = results.difference(_place(load, MEET), _place(load, best), measure)
    told = f"{_told(more)} beside {best}: {_told(means[MEET])} and {_told(there[best])}"
    return Figure(what, "no more", told, _at_most(results, load, more, 0))


def _against_base(results: Measured, load: float, at: str) -> Figure:
    measure = f"{MACHINES[1]} {WAIT}"
    meet, base = (results.mean(_place(load, schemes), measure) for schemes in (MEET, BASE))
    more = results.difference(_place(load, MEET), _place(load, BASE), measure)
    what, asked = f"Wait of Eureka's jobs without mates {at}, beside no coscheduling", f"at most {MOST_LOSS} % more"
    if meet is None or base is None or more is None or not base.mean:
        return Figure(what, asked, "–", UNKNOWN)
    rise = Estimate(100 * more.mean / base.mean, None if more.half is None else 100 * more.half / base.mean)
    told = f"{_told(rise)} %: {_told(meet)} and {_told(base)} min"
    return Figure(what, asked, told, _at_most(results, load, rise, MOST_LOSS))


def _of_all(results: Measured) -> Iterator[Figure]:
    """Yield what must hold in every case of section V with meet on both machines."""
    places = [_place(load, MEET) for load in LOADS] + [(BY_SHARE, share, MEET) for share in SHARES]
    cases = sum(map(results.count, places))
    held = [results.greatest(place, f"{machine} {HELD}") for place in places for machine in MACHINES]
    yield Figure("Node-time held (%)", "0", f"{shown(max(held))} at most, of {cases} cases", _zero(max(held), cases))
    pairs, together = (results.total(name, places) for name in (PAIRS, TOGETHER))
    yield Figure("Pairs that start together", "all", f"{together:,} of {pairs:,}", _zero(pairs - together, cases))
    never = sum(results.total(f"{machine} {NEVER}", places) for machine in MACHINES)
    longest = max((results.greatest(place, PAIR_LONGEST) for place in places), default=0)
    told = f"{never} jobs never start; the longest wait of a pair is {longest / 60:.1f} h"
    yield Figure("Nobody starves", "every job starts", told, _zero(never, cases))


def _place(load: float, schemes: str) -> Place:
    return BY_LOAD, load, schemes


def _told(value: Estimate | None) -> str:
    return "–" if value is None else str(value)


def _zero(value: float, cases: int) -> str:
    return (FAILS if value else HOLDS) if cases else UNKNOWN


def _at_most(results: Measured, load: float, value: Estimate | None, limit: float) -> str:
    """Return whether all of an interval is at most the limit, or none of it; with few replications it is open."""
    if value is None:
        return UNKNOWN
    return Range(high=limit).decides(value) if results.count(_place(load, MEET)) >= LEAST else OPEN
