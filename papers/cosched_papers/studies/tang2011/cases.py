"""All cases of the study: the replays, and the experiment and point that each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

from cosched_papers.studies.tang2011 import setup
from cosched_papers.studies.tang2011.sensitivity import Sensitivity, sensitivities
from cosched_sim.studies.cases import labels
from cosched_sim.sweeps.case import Case

# Experiments. The comments say what a "point" is in each.
BY_LOAD = "load"  # V-D: Eureka's load
BY_SHARE = "share"  # V-E: the share of Intrepid's jobs that are paired
LAST = "release order"  # V-E with released jobs last, as in the paper: the share
LONG = "span"  # V-B: days, at a high load, hold-hold
LONG_NO_TIMER = "span, no timer"
SHARE_NO_TIMER = "share, no timer"
ALIKE = "alike"  # V-D's loads with as many jobs on Eureka as on Intrepid, of which ALIKE_SHARE are paired: the load
ALIKE_SHARE = 0.075  # "between 5% and 10%"

LONG_SPANS = (10, 20, 30, 60, 120)  # days, if a month has 30
QUICK_SPANS = (10, 60)

ALL = (setup.BASE, *setup.SCHEMES)
At = Callable[[str, float, int], setup.Settings]  # a replay by schemes, point and replication


def cases(plan: setup.Plan) -> list[Case]:
    """Return every case of the study, in a fixed order."""
    return [
        Case(at(schemes, point, replication), labels(experiment, point, schemes, replication))
        for replication in range(1, plan.replications + 1)
        for experiment, places, at in _experiments(plan)
        for point, schemes in places
    ]


def spans(plan: setup.Plan) -> Sequence[float]:
    """Return the lengths in days of the long runs that look for deadlocks; a month if there are no longer spans."""
    if not plan.months.longer:
        return (plan.days,)
    return [days * plan.days / setup.MONTH_DAYS for days in (QUICK_SPANS if plan.quick else LONG_SPANS)]


def _experiments(plan: setup.Plan) -> Iterator[tuple[str, Iterable[tuple[float, str]], At]]:
    """Yield each experiment with its points and schemes, and its replays; some take turns, and so come in parts.

    A sensitivity is without its usual value, which is a case of V-D or V-E.
    """

    def long(schemes: str, days: float, replication: int) -> setup.Settings:
        return plan.by_load(schemes, setup.HIGH, replication, days)

    yield BY_LOAD, product(setup.LOADS, ALL), plan.by_load
    yield BY_SHARE, product(setup.SHARES, ALL), plan.by_share
    for days in spans(plan):
        yield LONG, [(days, "HH")], long
        yield LONG_NO_TIMER, [(days, "HH")], _with(long, "release_interval", 0)
    yield SHARE_NO_TIMER, product(setup.SHARES, ["HH"]), _with(plan.by_share, "release_interval", 0)
    order = ("HH",) if plan.quick else setup.HOLDING
    yield LAST, product(setup.SHARES, order), _with(plan.by_share, "release_order", "last")
    for each in sensitivities(plan):
        points = [point for point in each.points if point != each.usual]
        schemes = (*each.schemes, *((setup.BASE,) if each.own_base else ()))

        def vary(schemes: str, point: float, replication: int, of: Sensitivity = each) -> setup.Settings:
            usual = plan.by_load(schemes, setup.MEDIUM, replication)
            if of.share is not None:
                usual = plan.by_share(schemes, of.share, replication)
            return of.vary(usual, point, plan.days)

        yield each.name, product(points, schemes), vary
    if plan.months.generated:
        yield (
            ALIKE,
            product(setup.LOADS, ALL),
            lambda schemes, load, number: plan.by_share(schemes, ALIKE_SHARE, number, load),
        )


def _with(at: At, key: str, value: object) -> At:
    """Return the same replays with a key of both machines set."""
    return lambda schemes, point, replication: setup.everywhere(at(schemes, point, replication), key, value)
