"""Wrong readings of the rules for groups that meet, to put in the place of the slow simulator's own code."""

from . import coschedule, groups, slots, state
from .meet_mistakes import NobodyAhead, book_quietly, hold_with_slots, never_early, out_of_turn_before_h
from .planned import PlannedIteration

right_all_plan = groups.all_plan
right_answer_round = groups.answer_round
right_common_instant = groups.common_instant
right_turn = PlannedIteration.turn


def never(*_):
    return False


# When, and what is asked


def slots_of_all_kinds(j):
    return all(k.status == "queuing" and k.ready is not None for k in j.group.others(j))


def slots_before_readiness(j):
    return all(k.domain.config.slots and k.status == "queuing" for k in j.group.members)


def first_answers(j, _plan, now, _place):
    """Take the latest instant of one round, whether it suits all or not."""
    group = j.group
    if group.instant is not None:
        return None
    answers = [right_answer_round(k, slots.plan_ahead_of(k, now), now, now, None) for k in group.others(j)]
    group.instant = max(at for at, _ in answers)
    return {k: (group.instant, k.nodes) for k in group.members}


def any_instant(j, plan, now, place):
    """Take the given instant for the latest one at which all may start."""
    at, j.group.at = j.group.at, None
    answers = right_common_instant(j, plan, now, place)
    j.group.at = at
    return answers


def given_first(j, plan, now, place):
    """Take the given instant for the first one at which all may start."""
    at = j.group.at
    if at is None:
        return right_common_instant(j, plan, now, place)
    j.group.at = None
    answers = right_common_instant(j, plan, max(now, at), None if at > now else place)
    j.group.at = at
    return answers


def never_now(j, plan, now, _place):
    return right_common_instant(j, plan, now + 1, None)


def never_moved(j, plan, now, place):
    return right_common_instant(j, plan, now, place) if j.group.instant is None else None


def moved_by_who_fits(j, plan, now, place):
    return None if place is None else right_common_instant(j, plan, now, place)


def moved_to_any_instant(j, plan, now, place):
    slots_before = [(k, k.slot) for k in j.group.members]
    instant_before, j.group.instant = j.group.instant, None
    for k, _ in slots_before:
        k.slot = None
    answers = right_common_instant(j, plan, now, place)
    for k, slot in slots_before:
        k.slot = slot
    if answers is None or j.group.instant == instant_before:
        j.group.instant = instant_before
        return None
    return answers


def wanted_by_rounds(k, *rest):
    k.wanted = True
    return right_answer_round(k, *rest)


# Windows


def no_window_before(k, plan, instant, now, place):
    """The window ends later, but begins at T."""
    return right_answer_round(k, plan, instant - k.group.windows[k][0], now, place)


def own_instant(_k, at):
    """Who is late asks all others to wait for it."""
    return at


def least_by_the_begin(k, at):
    return at - k.group.windows[k][0]


def early_alone(iteration, entry):
    """Whoever fits starts before its slot, though another of its group has started."""
    if not entry.keeps_slot():
        return right_turn(iteration, entry)
    booking = iteration.booking(entry)
    iteration.plan.vacate(*booking)
    place = iteration.fit(entry)
    iteration.plan.occupy(*booking)
    if place is not None:
        entry.domain.start(entry, place, iteration.now)
    return True


Patch = tuple[object, str, object]

# What is wrong, the case that shows it, what starts at another time in it, and the wrong code.
MISTAKES: dict[str, tuple[str, str, Patch]] = {
    "no slots": ("slot kept", "c2 20, a1 320, b1 320, c1 320, c3 370", (groups, "all_plan", never)),
    "holds with slots": (
        "slot instead of holds",
        "a1 10, b1 10, c1 10, c2 60, a0 60, b0 60, c3 360",
        (coschedule, "would_hold", hold_with_slots),
    ),
    "slots though a domain has none": (
        "a domain has no slots",
        "c3 21, a1 120, b1 120, c1 120, c2 170",
        (groups, "all_plan", slots_of_all_kinds),
    ),
    "slots though one has not been ready": (
        "one has not been ready",
        "c3 21, a1 120, b1 120, c1 120, c2 170",
        (groups, "all_plan", slots_before_readiness),
    ),
    "one round": ("least common instant", "a1 90, b1 90, c1 90, a9 110", (groups, "common_instant", first_answers)),
    "slots delay reservations": (
        "least common instant",
        "a1 90, b1 90, c1 90, a9 110",
        (slots, "PlannedIteration", NobodyAhead),
    ),
    "now is no slot": ("agreed on now", "a1 51, b1 51, c1 51", (groups, "common_instant", never_now)),
    "slots are never early": ("early", "a1 120, b1 120, c1 120, c2 170", (PlannedIteration, "turn", never_early)),
    "slots never move": (
        "moved",
        "c4 105, a1 185, b1 185, c1 185, c2 235",
        (groups, "common_instant", never_moved),
    ),
    "slots move only for those that fit": (
        "moved by who does not fit",
        "a4 100, a1 180, b1 180, c1 180",
        (groups, "common_instant", moved_by_who_fits),
    ),
    "slots move later": (
        "never later",
        "c5 100, a1 199, b1 199, c1 199, c2 249",
        (groups, "common_instant", moved_to_any_instant),
    ),
    "a new slot is no change": ("a slot lets others start", "b2 500", (state.DomainState, "book", book_quietly)),
    "slots are proposed before the first job": (
        "slot behind the first job",
        "a4 60, b4 60, c4 60, a2 140",
        (PlannedIteration, "out_of_turn", out_of_turn_before_h),
    ),
    "asked in a round, wanted": (
        "asked for a slot, not wanted",
        "c2 149, c4 249, d4 249",
        (groups, "answer_round", wanted_by_rounds),
    ),
    "windows, and proposals for now": ("offset", "b1 10", (groups.Group, "by_slots_only", never)),
    "offsets begin at T": ("offset", "b1 10", (groups, "answer_round", no_window_before)),
    "T is the instant of who is late": ("window", "a1 100, c1 100", (groups, "least_instant", own_instant)),
    "T is the first that suits who is late": (
        "window",
        "a1 120, c1 120",
        (groups, "least_instant", least_by_the_begin),
    ),
    "who is left starts early": ("fixed", "b1 40", (PlannedIteration, "turn", early_alone)),
    "offsets never move": (
        "offset, moved",
        "a1 200, c1 200, b1 230",
        (groups, "common_instant", never_moved),
    ),
    "offsets move only for those that fit": (
        "offset, moved by who does not fit",
        "a1 150, c1 150, b1 180",
        (groups, "common_instant", moved_by_who_fits),
    ),
    "one moves later": ("no member later", "a1 100, b1 100, c5 100, c1 199", (groups, "moves_later", never)),
    "a given instant is a bound": ("given instant", "a1 10, b1 10, c1 10", (groups, "common_instant", any_instant)),
    "a given instant may become later": (
        "given instant, passed",
        "c2 20, a1 120, b1 120, c1 120",
        (groups, "common_instant", given_first),
    ),
}
