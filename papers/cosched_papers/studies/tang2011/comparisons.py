"""Ours beside the numbers of section V (numbers.csv), and the differences that claims are about.

These are from the base, between schemes and between points, on the same workloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise, product

from cosched_papers.studies.tang2011.results import EXTRA, SLOWDOWN, WAIT, Results
from cosched_papers.studies.tang2011.setup import BASE, MACHINES, SCHEMES
from cosched_sim.results.estimate import Exact
from cosched_sim.studies.measured import Of
from cosched_sim.studies.paper import Found, Statement, means_finders, read_statements
from cosched_sim.studies.verdicts import POSITIVE, Named, one_holds

# (combination in which the machine holds, one in which it yields); the other machine's scheme is the same in both
HOLD_AND_YIELD = {"intrepid": (("HH", "YH"), ("HY", "YY")), "eureka": (("HH", "HY"), ("YH", "YY"))}

Points = Sequence[float]


def averaged(experiment: str, points: Points, machine: str, measure: str, schemes: Sequence[str] = SCHEMES) -> list[Of]:
    """Return where a measure of a machine is under all of some combinations at all of some points."""
    return [((experiment, point, name), f"{machine} {measure}") for point in points for name in schemes]


def extras(results: Results, experiment: str, points: Points, machine: str, measure: str) -> list[Named]:
    """Return the differences from the base, for every combination at every point."""
    places = averaged(experiment, points, machine, f"{measure}{EXTRA}")
    return [(f"{place[2]} at {place[1]:g}", results.mean(place, of)) for place, of in places]


def as_shares(results: Results, experiment: str, point: float, machine: str, measure: str, more: Named) -> Named:
    """Return a difference from the base as a share of the mean base."""
    name, extra = more
    base = results.mean((experiment, point, BASE), f"{machine} {measure}")
    if extra is None or base is None or base.mean <= 0:
        return name, None
    return name, extra.times(1 / base.mean)


def rises(results: Results, experiment: str, points: Points, machine: str, measure: str) -> list[Named]:
    """Return the differences from the base as shares of it, for every combination at every point."""
    return [
        as_shares(results, experiment, point, machine, measure, more)
        for point in points
        for more in extras(results, experiment, (point,), machine, measure)
    ]


def hold_minus_yield(
    results: Results, experiment: str, points: Points, machine: str, measure: str, sign: int = 1
) -> list[Named]:
    """Return how much greater a measure is under local hold than local yield, with the same scheme on the other.

    `sign` -1: how much greater it is under local yield.
    """
    of, pairs = f"{machine} {measure}", [pair[::sign] for pair in HOLD_AND_YIELD[machine]]
    return [
        (f"{one} against {other} at {at:g}", results.difference((experiment, at, one), (experiment, at, other), of))
        for at, (one, other) in product(points, pairs)
    ]


yield_minus_hold = partial(hold_minus_yield, sign=-1)


def steps(
    results: Results, experiment: str, points: Points, machine: str, measure: str, schemes: Sequence[str]
) -> list[Named]:
    """Return how much greater a measure is at each point than at the one before."""
    of = f"{machine} {measure}"
    pairs = [(name, low, high) for name in schemes for low, high in pairwise(points)]
    return [
        (f"{name} from {low:g} to {high:g}", results.difference((experiment, high, name), (experiment, low, name), of))
        for name, low, high in pairs
    ]


def worse_under_hold(results: Results, experiment: str, points: Points) -> dict[str, str]:
    """Return for each comparison on each machine the verdict on whether hold has a greater wait or slowdown."""
    words = {}
    for point, machine in product(points, MACHINES):
        waits, slowdowns = (hold_minus_yield(results, experiment, (point,), machine, of) for of in (WAIT, SLOWDOWN))
        for (name, wait), (_, slowdown) in zip(waits, slowdowns, strict=True):
            if wait is not None and slowdown is not None:
                words[f"{machine.capitalize()}, {name}"] = one_holds(map(POSITIVE.decides, (wait, slowdown)))
    return words


@cache
def statements() -> list[Statement[Results]]:
    """Return all statements, in the order of the paper."""
    return read_statements(__file__, {**means_finders(_means), "fact": _fact})


def _fact(results: Results, name: str) -> Found:
    return {name: Exact(results.facts[name])} if name in results.facts else {}


def _means(results: Results, experiment: str, points: Sequence[float], schemes: Sequence[str], measure: str) -> Found:
    found = results.means_of(experiment, points, schemes, measure)
    return {f"{point:g}" if name == BASE else f"{name}, {point:g}": value for (point, name), value in found.items()}
