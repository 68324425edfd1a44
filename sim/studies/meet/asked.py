"""The figures that meet was to reach in section V's set-up, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cosched.sim.results.estimate import Estimate, shown
from cosched.sim.studies.measured import Place
from cosched.sim.studies.meet.experiments import BY_LOAD, BY_SHARE
from cosched.sim.studies.meet.measuring import HELD, NEVER, PAIR_LONGEST, PAIR_WAIT, PAIRS, TOGETHER, WAIT
from cosched.sim.studies.meet.results import Results
from cosched.sim.studies.meet.schemes import MEET
from cosched.sim.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES, SHARES

MOST_WAIT = {0.25: 16, 0.5: 22, 0.75: 56}  # minutes, of a pair
MOST_LOSS = 10  # per cent that Eureka's jobs without mates may wait longer than without coscheduling

YES, WITHIN, NO, UNKNOWN = "yes", "within ±", "no", "not measured"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: what was asked, what was measured, and whether it is reached."""

    what: str
    asked: str
    measured: str
    reached: str


def figures(results: Results) -> list[Figure]:
    """Return all figures."""
    found: list[Figure] = []
    for load in LOADS:
        found += _of_load(results, load)
    return [*found, *_of_all(results)]


def _of_load(results: Results, load: float) -> Iterator[Figure]:
    at = f"at Eureka's load {load:g}"
    meet = _place(load, MEET)
    most = MOST_WAIT[load]
    wait = results.mean(meet, PAIR_WAIT)
    yield Figure(f"Wait of a pair {at} (min)", f"at most {most}", _told(wait), _at_most(wait, most))
    yield _against_combinations(results, load, at)
    yield _against_base(results, load, at)


def _against_combinations(results: Results, load: float, at: str) -> Figure:
    """Intrepid's jobs without mates, against the combination under which they wait least."""
    measure = f"{MACHINES[0]} {WAIT}"
    means = {schemes: results.mean(_place(load, schemes), measure) for schemes in SCHEMES}
    there = {schemes: mean for schemes, mean in means.items() if mean is not None}
    what = f"Wait of Intrepid's jobs without mates {at}, beside the best combination (min)"
    if not there:
        return Figure(what, "no more", "–", UNKNOWN)
    best = min(there, key=lambda schemes: there[schemes].mean)
    more = results.difference(_place(load, MEET), _place(load, best), measure)
    told = f"{_told(more)} beside {best}: {_told(results.mean(_place(load, MEET), measure))} and {_told(there[best])}"
    return Figure(what, "no more", told, _at_most(more, 0))


def _against_base(results: Results, load: float, at: str) -> Figure:
    measure = f"{MACHINES[1]} {WAIT}"
    meet, base = (results.mean(_place(load, schemes), measure) for schemes in (MEET, BASE))
    more = results.difference(_place(load, MEET), _place(load, BASE), measure)
    what = f"Wait of Eureka's jobs without mates {at}, beside no coscheduling"
    if meet is None or base is None or more is None or not base.mean:
        return Figure(what, f"at most {MOST_LOSS} % more", "–", UNKNOWN)
    rise = Estimate(100 * more.mean / base.mean, None if more.half is None else 100 * more.half / base.mean)
    told = f"{_told(rise)} %: {_told(meet)} and {_told(base)} min"
    return Figure(what, f"at most {MOST_LOSS} % more", told, _at_most(rise, MOST_LOSS))


def _of_all(results: Results) -> Iterator[Figure]:
    """Yield what must hold in every case of section V with meet on both machines."""
    places = [_place(load, MEET) for load in LOADS] + [(BY_SHARE, share, MEET) for share in SHARES]
    cases = sum(map(results.count, places))
    held = [results.greatest(place, f"{machine} {HELD}") or 0 for place in places for machine in MACHINES]
    yield Figure("Node-time held (%)", "0", f"{shown(max(held))} at most, of {cases} cases", _zero(max(held), cases))
    pairs, together = (round(sum(_sum(results, place, name) for place in places)) for name in (PAIRS, TOGETHER))
    yield Figure("Pairs that start together", "all", f"{together:,} of {pairs:,}", _zero(pairs - together, cases))
    never = sum(_sum(results, place, f"{machine} {NEVER}") for place in places for machine in MACHINES)
    longest = max((results.greatest(place, PAIR_LONGEST) or 0 for place in places), default=0)
    told = f"{never:.0f} jobs never start; the longest wait of a pair is {longest / 60:.1f} h"
    yield Figure("Nobody starves", "every job starts", told, _zero(never, cases))


def _place(load: float, schemes: str) -> Place:
    return BY_LOAD, load, schemes


def _sum(results: Results, place: Place, measure: str) -> float:
    return sum(results.values(place, measure).values())


def _told(value: Estimate | None) -> str:
    return "–" if value is None else str(value)


def _zero(value: float, cases: int) -> str:
    if not cases:
        return UNKNOWN
    return NO if value else YES


def _at_most(value: Estimate | None, limit: float) -> str:
    """Whether a mean is at most the limit, or its interval reaches it."""
    if value is None:
        return UNKNOWN
    if value.mean <= limit:
        return YES
    return WITHIN if value.half is not None and value.low <= limit else NO
