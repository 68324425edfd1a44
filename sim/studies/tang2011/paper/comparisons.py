"""Differences that claims are about: from the base, between schemes and between points, on the same workloads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.claims import Named, Verdict, missing
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
        base = results.mean(experiment, point, BASE, f"{machine} {measure}")
        if base is not None and base.mean > 0:
            half = None if extra.half is None else extra.half / base.mean
            rise.append((f"{schemes} at {point:g}", Estimate(extra.mean / base.mean, half)))
    return rise


def hold_minus_yield(results: Results, experiment: str, points: Points, machine: str, measure: str) -> list[Named]:
    """Return how much greater a measure is under local hold than local yield, with the same scheme on the other."""
    return [
        (f"{hold} against {other} at {point:g}", _difference(results, experiment, point, hold, other, machine, measure))
        for point in points
        for hold, other in HOLD_AND_YIELD[machine]
    ]


def yield_minus_hold(results: Results, experiment: str, points: Points, machine: str, measure: str) -> list[Named]:
    """Return how much greater a measure is under local yield than local hold, with the same scheme on the other."""
    return [
        (f"{other} against {hold} at {point:g}", _difference(results, experiment, point, other, hold, machine, measure))
        for point in points
        for hold, other in HOLD_AND_YIELD[machine]
    ]


def steps(
    results: Results, experiment: str, points: Points, machine: str, measure: str, schemes: Sequence[str]
) -> list[Named]:
    """Return how much greater a measure is at each point than at the one before."""
    return [
        (
            f"{name} from {before:g} to {after:g}",
            results.step(experiment, (before, after), name, f"{machine} {measure}"),
        )
        for name in schemes
        for before, after in itertools.pairwise(points)
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


def _difference(
    results: Results, experiment: str, point: float, first: str, second: str, machine: str, measure: str
) -> Estimate | None:
    return results.difference(experiment, point, (first, second), f"{machine} {measure}")
