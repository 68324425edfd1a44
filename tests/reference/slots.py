"""meet.md, rule 4: two domains agree on the earliest common instant. Comments quote that page."""

from .iteration import MayHold, Taken
from .order import ordered
from .planned import Plan, PlannedIteration
from .state import Entry

ROUNDS = 50


def settle(j: Entry, plan: Plan, now: int, place: object | None = None) -> bool:
    """Agree on a slot for j and its mate, an earlier one if they have one; answer whether it is now.

    `plan` is the profile of j's turn without its own slot; `place` is where j would start now.
    """
    k = j.mate
    if not (j.domain.config.slots and k.domain.config.slots):  # "a domain may say no to a proposal (slots off [...])"
        return False
    t, j_place = first_instant(j, plan, now, place)
    for _ in range(ROUNDS):
        if too_late(j, t):
            return False
        u, k_place = propose_start(k, t, now)
        if too_late(j, u):
            return False
        if u == t:  # "u = t: agreed, and B's answer has booked it"
            j.domain.book(j, t, j_place)
            k.domain.book(k, t, k_place)
            return t == now
        t, j_place = earliest(plan, j, u)  # "else A tries earliest(j, u), and so on, at most 50 rounds"
    return False


def first_instant(j: Entry, plan: Plan, now: int, place: object | None) -> tuple[float | None, object]:
    if place is not None and plan.is_free(place, now, now + j.job.requested):
        return now, place
    return earliest(plan, j, now)


def earliest(plan: Plan, entry: Entry, not_before: int) -> tuple[int | None, object]:
    found = plan.earliest(entry.nodes, entry.job.requested, not_before)
    return (None, None) if found is None else found


def too_late(j: Entry, instant: int | None) -> bool:
    # "The pair moves only if both can be earlier; a slot never moves later by itself."
    return instant is None or (j.slot is not None and instant >= j.slot.at)


def propose_start(k: Entry, not_before: int, now: int) -> tuple[int | None, object]:
    # "the earliest instant >= not_before at which k fits in B's plan: B's profile without k's own slot, after a dry run
    # in policy order up to k (unpaired jobs that fit now start in it, the first that does not fit is reserved, paired
    # ones and those with slots are passed)"
    return earliest(plan_ahead_of(k, now), k, not_before)


def plan_ahead_of(k: Entry, now: int) -> Plan:
    """Give the profile in which k may have a slot: all that come before it in its queue are in it."""

    def attempt(entry: Entry, _place: object, _may_hold: MayHold, _plan: Plan) -> Taken | None:
        if not entry.is_alone():
            return None
        return Taken(until=now + entry.job.requested, claim=now + entry.job.requested)

    order = [e for e in ordered(k.domain, now) if e is k or e not in k.domain.yielded]
    plan = k.domain.profile(now, without=k)
    PlannedIteration(plan, order[: order.index(k)], now, attempt).walk(k.domain.config.backfill)
    return plan
