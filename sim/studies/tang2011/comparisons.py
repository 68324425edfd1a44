"""Ours beside the numbers of section V (numbers.csv), and the differences that claims are about.

These are from the base, between schemes and between points, on the same workloads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.paper import Found, Named, Statement, Verdict, means_finders, missing, read_statements
from cosched.sim.studies.tang2011.results import EXTRA, SLOWDOWN, WAIT, Results
from cosched.sim.studies.tang2011.setup import BASE, MACHINES, SCHEMES

# (combination in which the machine holds, one in which it yields); the other machine's scheme is the same in both
HOLD_AND_YIELD = {"intrepid": (("HH", "YH"), ("HY", "YY")), "eureka": (("HH", "HY"), ("YH", "YY"))}

Points = Sequence[float]


def extras(results: Results, experiment: str, points: Points, machine: str, measure: str) -> list[Named]:
    """Return the differences from the base, for every combination at every point."""
    found = results.means_of(experiment, points, SCHEMES, f"{machine} {measure}{EXTRA}")
    return [(f"{schemes} at {point:g}", value) for (point, schemes), value in found.items()]


def rises(results: Results, experiment: str, points: Points, machine: str, measure: str) -> list[Named]:
    """Return the same differences as shares of the mean base."""
    found = results.means_of(experiment, points, SCHEMES, f"{machine} {measure}{EXTRA}")
    rise: list[Named] = []
    for (point, schemes), extra in found.items():
        base = results.mean((experiment, point, BASE), f"{machine} {measure}")
        if base is not None and base.mean > 0:
            half = None if extra.half is None else extra.half / base.mean
            rise.append((f"{schemes} at {point:g}", Estimate(extra.mean / base.mean, half)))
    return rise


def hold_minus_yield(
    results: Results, experiment: str, points: Points, machine: str, measure: str, sign: int = 1
) -> list[Named]:
    """Return how much greater a measure is under local hold than local yield, with the same scheme on the other.

    `sign` -1: how much greater it is under local yield.
    """
    of, pairs = f"{machine} {measure}", [pair[::sign] for pair in HOLD_AND_YIELD[machine]]
    return [
        (f"{one} against {other} at {at:g}", results.difference((experiment, at, one), (experiment, at, other), of))
        for at in points
        for one, other in pairs
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


def worse_under_hold(results: Results, experiment: str, point: float) -> Iterator[tuple[str, bool]]:
    """Yield for each machine whether local hold has a greater wait or slowdown than local yield."""
    for machine in MACHINES:
        waits = hold_minus_yield(results, experiment, (point,), machine, WAIT)
        slowdowns = hold_minus_yield(results, experiment, (point,), machine, SLOWDOWN)
        for (name, wait), (_, slowdown) in zip(waits, slowdowns, strict=True):
            if wait is not None and slowdown is not None:
                yield f"{machine.capitalize()}, {name}", wait.mean > 0 or slowdown.mean > 0


def sides(found: Sequence[tuple[str, bool]]) -> Verdict:
    """Hold if all findings are true."""
    if not found:
        return missing()
    exceptions = [name for name, holds in found if not holds]
    ours = f"{len(found) - len(exceptions)} of {len(found)} comparisons"
    return Verdict(not exceptions, ours, f"not {'; '.join(exceptions)}" if exceptions else "")


@cache
def statements() -> list[Statement[Results]]:
    """Return all statements, in the order of the paper."""
    finders = {**means_finders(_means), "fact": _fact}
    return read_statements(Path(__file__).with_name("numbers.csv"), finders)


def _fact(results: Results, name: str) -> Found:
    return {name: Estimate(results.facts[name])} if name in results.facts else {}


def _means(results: Results, experiment: str, points: Sequence[float], schemes: Sequence[str], measure: str) -> Found:
    found = results.means_of(experiment, points, schemes, measure)
    return {f"{point:g}" if name == BASE else f"{name}, {point:g}": value for (point, name), value in found.items()}
