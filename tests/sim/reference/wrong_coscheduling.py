"""Wrong definitions of holds, yields and TryStartMate, to put in the place of the slow simulator's own."""

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

from tests.reference import RefDomain, blocks, coschedule, flat, iteration, state
from tests.reference.planned import PlannedIteration

right_iterate = iteration.iterate
right_run_job = coschedule.run_job
right_limit = PlannedIteration.limit
right_turn = PlannedIteration.turn


def instead_of(scheme: str, other: str) -> Callable[[RefDomain], None]:
    """Domains that have this scheme have another one."""

    def change(domain: RefDomain) -> None:
        if domain.scheme == scheme:
            domain.scheme = other

    return change


def strict_cap(domain: RefDomain) -> None:
    limit = math.ceil(Fraction(domain.max_held_fraction) * domain.nodes) - 1
    domain.max_held_fraction = f"{limit}/{domain.nodes}"


def cap_in_floats(domain: RefDomain) -> None:
    domain.max_held_fraction = f"{math.floor(float(domain.max_held_fraction) * domain.nodes)}/{domain.nodes}"


def no_guard(*_):
    return math.inf


def strict_guard(iteration, *rest):
    limit = right_limit(iteration, *rest)
    return limit and limit - 1


def never_early(iteration, entry):
    return entry.slot is not None or right_turn(iteration, entry)


def always(*_reservation) -> iteration.MayHold:
    return lambda _release: True


def never(*_reservation) -> iteration.MayHold:
    return lambda _release: False


def by_release_alone(reservation, place: object, _requested: int) -> iteration.MayHold:
    return lambda release: reservation.may_hold(place, release)


class HoldsUntil:
    """Held nodes are expected to be free at another time than the release: without end, or after a run."""

    def __init__(self, *, endless: bool) -> None:
        self._endless = endless

    def expected(self, entry: state.Entry, release: float) -> float:
        return math.inf if self._endless else release + entry.job.requested

    def pool(self, domain: state.DomainState) -> flat.Pool | blocks.Pool:
        taken = [(e.place, e.start + e.job.requested) for e in domain.running]
        taken += [(e.place, self.expected(e, e.release)) for e in domain.holding]
        if domain.config.layout is None:
            return flat.Pool(domain.config.nodes, taken)
        return blocks.Pool(*domain.config.layout, taken)

    def run_job(self, entry: state.Entry, *rest) -> iteration.Taken | None:
        taken = right_run_job(entry, *rest)
        if taken is not None and entry.status == "holding":
            return taken._replace(until=self.expected(entry, taken.until))
        return taken


class _Blocked(Exception):  # noqa: N818
    pass


def yield_blocks(domain: state.DomainState, ordered: list[state.Entry], now: int, attempt: iteration.Attempt) -> None:
    """A yield ends the iteration, as if the job kept its turn."""

    def attempt_or_end(*ready) -> iteration.Taken | None:
        taken = attempt(*ready)
        if taken is None:
            raise _Blocked
        return taken

    if domain.yielded:
        return
    with suppress(_Blocked):
        right_iterate(domain, ordered, now, attempt_or_end)


def released_in_place(_entry: state.Entry, _now: int) -> int:
    return 0


# Whether TryStartMate(k) would start k, and where


def never_in_dry_run(_k: state.Entry, _now: int) -> object | None:
    return None


def wherever_free(k: state.Entry, _now: int) -> object | None:
    return k.domain.pool().fit(k.nodes)


def first_of_queue(k: state.Entry, now: int) -> object | None:
    return k.domain.pool().fit(k.nodes) if k is coschedule.ordered(k.domain, now)[0] else None


def behind_paired_jobs(k: state.Entry, now: int) -> object | None:
    found = []

    def attempt(entry: state.Entry, place: object, _may_hold: iteration.MayHold) -> iteration.Taken:
        if entry is k:
            found.append(place)
        return iteration.Taken(until=now + entry.job.requested, claim=now + entry.job.requested)

    order = [e for e in coschedule.ordered(k.domain, now) if e is k or e not in k.domain.yielded]
    right_iterate(k.domain, order[: order.index(k) + 1], now, attempt)
    return found[0] if found else None
