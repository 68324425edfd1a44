"""All cases of the study: the replays, and the experiment and point that each belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cosched.sim.studies.tang2011.sensitivity import sensitivities
from cosched.sim.studies.tang2011.setup import (
    BASE,
    HIGH,
    HOLDING,
    LOADS,
    MEDIUM,
    MONTH_DAYS,
    SCHEMES,
    SHARES,
    Plan,
    Settings,
    everywhere,
)
from cosched.sim.sweeps.case import Case

if TYPE_CHECKING:
    from cosched.sim.studies.tang2011.sensitivity import Sensitivity

# Experiments. The comments say what a "point" is in each.
BY_LOAD = "load"  # V-D: Eureka's load
BY_SHARE = "share"  # V-E: the share of Intrepid's jobs that are paired
LAST = "release order"  # V-E with released jobs last, as in the paper: the share
LONG = "span"  # V-B: days, at a high load, hold-hold
LONG_NO_TIMER = "span, no timer"
SHARE_NO_TIMER = "share, no timer"

LABELS = ("experiment", "point", "schemes", "replication")

LONG_SPANS = (10, 20, 30, 60, 120)  # days, if a month has 30
QUICK_SPANS = (10, 60)


def cases(plan: Plan) -> list[Case]:
    """Return every case of the study, in a fixed order."""
    found: list[Case] = []
    for replication in range(1, plan.replications + 1):
        found += _by_load(plan, replication)
        found += _by_share(plan, replication)
        found += _deadlocks(plan, replication)
        found += _release_order(plan, replication)
        for sensitivity in sensitivities(plan):
            found += _sensitivity(plan, sensitivity, replication)
    return found


def spans(plan: Plan) -> Sequence[float]:
    """Return the lengths in days of the long runs that look for deadlocks; a month if there are no longer spans."""
    if not plan.months.longer:
        return (plan.days,)
    return [days * plan.days / MONTH_DAYS for days in (QUICK_SPANS if plan.quick else LONG_SPANS)]


def _case(experiment: str, point: float, schemes: str, replication: int, settings: Settings) -> Case:
    labels = (experiment, float(point), schemes, replication)
    return Case(settings, dict(zip(LABELS, labels, strict=True)))


def _by_load(plan: Plan, replication: int) -> Iterator[Case]:
    for load in LOADS:
        for schemes in (BASE, *SCHEMES):
            yield _case(BY_LOAD, load, schemes, replication, plan.by_load(schemes, load, replication))


def _by_share(plan: Plan, replication: int) -> Iterator[Case]:
    for share in SHARES:
        for schemes in (BASE, *SCHEMES):
            yield _case(BY_SHARE, share, schemes, replication, plan.by_share(schemes, share, replication))


def _deadlocks(plan: Plan, replication: int) -> Iterator[Case]:
    """Yield hold-hold with the timer off, and the long runs with the timer on."""
    for days in spans(plan):
        yield _case(LONG, days, "HH", replication, plan.by_load("HH", HIGH, replication, days))
        settings = plan.by_load("HH", HIGH, replication, days)
        yield _case(LONG_NO_TIMER, days, "HH", replication, everywhere(settings, "release_interval", 0))
    for share in SHARES:
        settings = plan.by_share("HH", share, replication)
        yield _case(SHARE_NO_TIMER, share, "HH", replication, everywhere(settings, "release_interval", 0))


def _release_order(plan: Plan, replication: int) -> Iterator[Case]:
    for share in SHARES:
        for schemes in ("HH",) if plan.quick else HOLDING:
            settings = plan.by_share(schemes, share, replication)
            yield _case(LAST, share, schemes, replication, everywhere(settings, "release_order", "last"))


def _sensitivity(plan: Plan, sensitivity: Sensitivity, replication: int) -> Iterator[Case]:
    """Yield the cases of a sensitivity, without its default, which is a case of V-D or V-E."""
    for point in sensitivity.points:
        for schemes in (*sensitivity.schemes, *((BASE,) if sensitivity.own_base else ())):
            if point != sensitivity.default:
                settings = _usual(plan, sensitivity, schemes, replication)
                yield _case(sensitivity.name, point, schemes, replication, sensitivity.vary(settings, point))


def _usual(plan: Plan, sensitivity: Sensitivity, schemes: str, replication: int) -> Settings:
    if sensitivity.share is None:
        return plan.by_load(schemes, MEDIUM, replication)
    return plan.by_share(schemes, sensitivity.share, replication)
