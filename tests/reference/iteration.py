"""One scheduling iteration, real or a dry run: who could start now, in which order, where.

What becomes of a job that could start is not decided here but by `attempt`: it is told the job, its place,
and whether the job may hold the place until a given release time. It answers what the job took, or None if it
was passed over.
"""

from collections.abc import Callable
from typing import NamedTuple

from .state import DomainState, Entry


class Taken(NamedTuple):
    until: float  # when the nodes are expected to be free again: end of the run, or release of the hold
    claim: float  # when the job would end at the latest; a hold may become a run just before its release


MayHold = Callable[[float], bool]
Attempt = Callable[[Entry, object, MayHold], Taken | None]


def iterate(domain: DomainState, order: list[Entry], now: int, attempt: Attempt) -> None:
    walk = {"none": walk_none, "easy": walk_easy, "conservative": walk_conservative}[domain.config.backfill]
    walk(domain.pool(), order, now, attempt)


def walk_none(pool, order: list[Entry], _now: int, attempt: Attempt) -> None:
    # "None: stop at the first that does not fit."
    start_from_front(pool, order, attempt)


def start_from_front(pool, order: list[Entry], attempt: Attempt) -> int:
    """Return the index of the reserved job, or the length if there is none."""
    # "Jobs start in this order while they fit. The first that does not fit is the reserved job."
    for index, entry in enumerate(order):
        place = pool.fit(entry.nodes)
        if place is None:
            return index
        taken = attempt(entry, place, lambda _release: True)
        if taken:
            pool.occupy(place, taken.until)
    return len(order)


def walk_easy(pool, order: list[Entry], now: int, attempt: Attempt) -> None:
    head = start_from_front(pool, order, attempt)
    if head == len(order):
        return
    reservation = pool.reserve(order[head].nodes)  # "computed once per iteration"
    for entry in order[head + 1 :]:
        if pool.full():
            return
        requested = entry.job.requested
        place = reservation.offer(pool, entry.nodes, now + requested)
        if place is None:
            continue
        taken = attempt(entry, place, holds_before_shadow(reservation, place, requested))
        if taken:
            pool.occupy(place, taken.until)
            reservation.charge(place, taken.claim)


def holds_before_shadow(reservation, place: object, requested: int) -> MayHold:
    # Rule 5: "A job that was backfilled, so behind a reservation, may hold only if its hold cannot delay the reserved
    # job: its release time plus its requested time is at or before the shadow time, or its nodes fit into extra."
    return lambda release: reservation.may_hold(place, release + requested)


def walk_conservative(pool, order: list[Entry], now: int, attempt: Attempt) -> None:
    # "Every queued job gets the earliest place in the profile of free nodes that delays no job before it"
    plan = pool.plan(now)
    for entry in order:
        requested = entry.job.requested
        found = plan.earliest(entry.nodes, requested)
        if found is None:  # behind a hold without end
            continue
        time, place = found
        if time > now:
            plan.occupy(place, time, time + requested)
            continue
        taken = attempt(entry, place, holds_beside_plan(plan, place, now, requested))
        if taken:
            plan.occupy(place, now, taken.until)


def holds_beside_plan(plan, place: object, now: int, requested: int) -> MayHold:
    # Rule 5 where all jobs before it have reservations: the nodes must be in nobody's plan until it would
    # have ended.
    return lambda release: plan.is_free(place, now, release + requested)
