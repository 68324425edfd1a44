"""Wrong readings of meet.md, to put in the place of the slow simulator's own code."""

import math

from . import coschedule, slots, state
from .flat import Plan
from .planned import PlannedIteration

right_limit = PlannedIteration.limit
right_out_of_turn = PlannedIteration.out_of_turn
right_run = PlannedIteration.run
right_run_job = coschedule.run_job
right_try_start_mate = coschedule.try_start_mate
right_turn = PlannedIteration.turn
right_wanted_pass = PlannedIteration.wanted_pass
right_would_hold = coschedule.would_hold


# Rule 2


def nothing(*_):
    return None


def no_limit(*_):
    return math.inf


def limit_of_each_pair(iteration, h, others, budget, _dry_run):
    return right_limit(iteration, h, others, budget, dry_run=True)


def limit_without_what_is_due(iteration, h, others, budget, dry_run):
    if right_limit(iteration, h, others, budget, dry_run) is None:
        return None
    return max(h.guard or 0, iteration.plan.earliest(h.nodes, h.job.requested)[0])


def limit_without_the_earliest(iteration, h, others, budget, dry_run):
    limit = right_limit(iteration, h, others, budget, dry_run)
    return limit if limit is None or h.guard is None else min(limit, h.guard)


def limit_rounded_up(iteration, h, others, budget, dry_run):
    limit = right_limit(iteration, h, others, budget, dry_run)
    s = iteration.plan.earliest(h.nodes, h.job.requested)[0]
    return limit and s + math.ceil(budget * (s - h.job.submit))


def limit_fixed_in_dry_run(iteration, h, others, budget, _dry_run):
    return right_limit(iteration, h, others, budget, dry_run=False)


def limit_for_ready_jobs(iteration, h, others, budget, dry_run):
    ready, h.ready = h.ready, None
    limit = right_limit(iteration, h, others, budget, dry_run)
    h.ready = ready
    return limit


def pass_behind_ready_jobs(iteration, budget, dry_run):
    whole = iteration.order
    ready = [entry for entry in whole if entry.ready is not None]
    for entry in ready:
        iteration.turn(entry)
    iteration.order = [entry for entry in whole if entry not in ready]
    if iteration.order:
        right_wanted_pass(iteration, budget, dry_run)
    iteration.order = whole


def second_pass(iteration, budget, dry_run):
    right_wanted_pass(iteration, budget, dry_run)
    h, *others = iteration.order
    for entry in others:
        if entry.wanted and entry.slot is None and entry not in iteration.asked:
            iteration.out_of_turn(entry, h, math.inf)


def pass_for_slots(iteration, budget, dry_run):
    right_wanted_pass(iteration, budget, dry_run)
    h, *others = iteration.order
    limit = right_limit(iteration, h, others, budget, dry_run=True)
    for entry in others:
        if entry.slot is not None and entry not in iteration.asked:
            iteration.plan.vacate(*iteration.booking(entry))
            iteration.out_of_turn(entry, h, math.inf if limit is None else limit)
            if entry not in iteration.asked:
                iteration.plan.occupy(*iteration.booking(entry))


def wanted_jobs_first(iteration, config, *, dry_run=False):
    iteration.order.sort(key=lambda entry: not entry.wanted)
    right_run(iteration, config, dry_run=dry_run)


def no_pass_in_dry_run(iteration, config, *, dry_run=False):
    if dry_run:
        iteration.walk(config.backfill)
    else:
        right_run(iteration, config)


def hold_out_of_turn(iteration, entry, h, limit):
    attempt = iteration.attempt
    iteration.attempt = lambda entry, place, _may_hold, plan: attempt(entry, place, lambda _release: True, plan)
    right_out_of_turn(iteration, entry, h, limit)
    iteration.attempt = attempt


def lowest_fit(iteration, entry, **_beside):
    return iteration.plan.fit(entry.nodes, entry.job.requested)


def wanted_once_refused(k, hold_until, now):
    k.wanted, k.refused = hasattr(k, "refused"), True
    started = right_try_start_mate(k, hold_until, now)
    k.wanted = True
    return started


def wanted_if_submitted(j, *rest):
    unsubmitted = j.mate is not None and j.mate.status == "unsubmitted"
    taken = right_run_job(j, *rest)
    if unsubmitted:
        j.mate.wanted = False
    return taken


# Rules 3 and 4


def hold_with_slots(j, may_hold, now):
    slots_on, j.domain.config.slots = j.domain.config.slots, False
    answer = right_would_hold(j, may_hold, now)
    j.domain.config.slots = slots_on
    return answer


def slot_when_first_ready(j, place, may_hold, now, *plan):
    k = j.mate
    pretend = k is not None and k.status == "queuing" and k.ready is None
    if pretend:
        k.ready = now
    taken = right_run_job(j, place, may_hold, now, *plan)
    if pretend and k.status == "queuing":
        k.ready = None
    return taken


def profile_without_slots(domain, now, **_without):
    return domain.pool().plan(now)


def ends_before(plan, nodes, duration, _beside=None):
    now = plan.steps[0][0]
    return nodes if plan.is_free(nodes, now, now + duration + 1) else None


def never_early(iteration, entry):
    return entry.slot is not None or right_turn(iteration, entry)


def slot_stops(iteration, entry):
    return right_turn(iteration, entry) and (entry.slot is None or entry in iteration.asked)


def out_of_turn_before_h(iteration, entry, h, limit):
    place = iteration.fit(entry)
    if place is not None and iteration.earliest_behind(entry, place, h) <= limit:
        iteration.offer(entry, place)


class NobodyAhead(PlannedIteration):
    def walk(self, _backfill):
        pass


class OneReserved(PlannedIteration):
    def walk(self, _backfill):
        super().walk("easy")


class MatesPassed(PlannedIteration):
    def reserve(self, entry, backfill):
        if entry.mate is None:
            super().reserve(entry, backfill)


def book_quietly(_domain, entry, at, place):
    entry.slot_generation += 1
    entry.slot = state.Slot(at, place, entry.slot_generation)


Patch = tuple[object, str, object]

# What is wrong, the case that shows it, what starts at another time in it, and the wrong code.
MISTAKES: dict[str, tuple[str, str, Patch]] = {
    "no job is started out of turn": (
        "wanted first",
        "a3 40, a4 140, b1 140",
        (PlannedIteration, "wanted_pass", nothing),
    ),
    "wanted jobs also reserve": (
        "wanted jobs reserve nothing",
        "a4 100, b1 100, a3 150",
        (PlannedIteration, "run", wanted_jobs_first),
    ),
    "wanted jobs have no limit": ("guard exceeded", "a4 40, b1 40, a2 146", (PlannedIteration, "limit", no_limit)),
    "a second pass has no limit": (
        "guard exceeded",
        "a4 40, b1 40, a2 146",
        (PlannedIteration, "wanted_pass", second_pass),
    ),
    "the budget is one of each pair": (
        "one sum",
        "a5 100, b2 100, a2 160",
        (PlannedIteration, "limit", limit_of_each_pair),
    ),
    "the budget is rounded up": (
        "guard rounded down",
        "a4 40, b1 40, a2 145",
        (PlannedIteration, "limit", limit_rounded_up),
    ),
    "the limit is at least the guard": (
        "guard beyond what is due",
        "a4 60, b4 60, a2 160, a5 260, b5 260",
        (PlannedIteration, "limit", limit_without_what_is_due),
    ),
    "the limit is at most the guard": (
        "guard passed by others",
        "a5 52, a4 249, b4 249",
        (PlannedIteration, "limit", limit_without_the_earliest),
    ),
    "dry runs fix the guard": (
        "guard not fixed in a dry run",
        "a2 149, a4 249, a6 249, b4 249, b6 249",
        (PlannedIteration, "limit", limit_fixed_in_dry_run),
    ),
    "jobs that have been ready have a guard": (
        "no guard of a job that has been ready",
        "a1 101, b1 101, a3 201, b3 201",
        (PlannedIteration, "limit", limit_for_ready_jobs),
    ),
    "the first job is one that has not been ready": (
        "no guard behind a first job that yields",
        "a2 100, a4 200, b4 200",
        (PlannedIteration, "wanted_pass", pass_behind_ready_jobs),
    ),
    "dry runs start nobody out of turn": (
        "wanted when first asked",
        "b2 100, a1 150, b1 150",
        (PlannedIteration, "run", no_pass_in_dry_run),
    ),
    "wanted from the second question on": (
        "wanted when first asked",
        "b2 100, a1 150, b1 150",
        (coschedule, "try_start_mate", wanted_once_refused),
    ),
    "asked for too early, not wanted": (
        "wanted first",
        "a3 40, a4 140, b1 140",
        (coschedule, "run_job", wanted_if_submitted),
    ),
    "holds out of turn": (
        "no hold out of turn",
        "a4 150, b4 150, a2 200",
        (PlannedIteration, "out_of_turn", hold_out_of_turn),
    ),
    "out of turn on the lowest block": (
        "out of turn beside the first job's block",
        "a3 40, a4 200, b4 200",
        (PlannedIteration, "fit", lowest_fit),
    ),
    "out of turn with a slot": (
        "slot behind the first job",
        "a4 60, b4 60, a2 140",
        (PlannedIteration, "wanted_pass", pass_for_slots),
    ),
    "slots are proposed before the first job": (
        "slot behind the first job",
        "a4 60, b4 60, a2 140",
        (PlannedIteration, "out_of_turn", out_of_turn_before_h),
    ),
    "holds with slots": (
        "slots instead of holds",
        "a2 1200, b2 1200, a1 1300, b1 1300",
        (coschedule, "would_hold", hold_with_slots),
    ),
    "no slots": ("slot kept", "b6 310, a1 810, b2 810", (coschedule, "settle", nothing)),
    "slots at the first readiness": (
        "early",
        "a1 100, b2 100, a2 200, b3 200, a5 350",
        (coschedule, "run_job", slot_when_first_ready),
    ),
    "slots take no nodes": (
        "too long to come before the slot",
        "b3 110, a5 200, a1 420, b2 420",
        (state.DomainState, "profile", profile_without_slots),
    ),
    "jobs end before a slot, not by it": ("early", "a1 170, b2 170, a5 270, b3 270", (Plan, "fit", ends_before)),
    "slots are never early": ("early", "a1 420, b2 420", (PlannedIteration, "turn", never_early)),
    "a slot stops the queue": ("a slot stops nobody", "b7 310", (PlannedIteration, "turn", slot_stops)),
    "a new slot is no change": ("a slot lets others start", "b2 500", (state.DomainState, "book", book_quietly)),
    "slots delay reservations": (
        "slot behind a reservation",
        "a1 60, b1 60, b5 110",
        (slots, "PlannedIteration", NobodyAhead),
    ),
    "slots delay reservations of jobs with mates": (
        "slot behind the reservation of a job with a mate",
        "a1 60, b1 60, a5 110, b5 110",
        (slots, "PlannedIteration", MatesPassed),
    ),
    "slots delay plans": ("slot behind a plan", "a1 200, b1 200, b6 220", (slots, "PlannedIteration", OneReserved)),
}
