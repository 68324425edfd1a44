"""Cirne and Berman with conservative backfilling: a job chooses its size by the plans to which its sizes lead.

All have the places that they got first, while those that wait keep their order: so a plan tells every start up to the
iteration in which a job that has waited long has moved up. Only then a plan is made anew. A job changes nothing for
those before it; so one plan does for all its sizes, up to the first who overtakes others, or if nobody is behind it.
"""

from __future__ import annotations

from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.molding.kernels.iteration import begin, run
from cosched_papers.molding.kernels.places import shadow
from cosched_papers.molding.kernels.planning import earliest_in_plan, take_in_plan
from cosched_papers.molding.kernels.sizes import ages_at, level, size_of, time_on
from cosched_papers.molding.kernels.state import (
    FORKED,
    NEVER,
    PLACE,
    QUEUE,
    REAL,
    RUN_END,
    SHARED,
    START,
    TIME,
    TURNS,
    UNDECIDED,
    Molds,
)
from cosched_papers.molding.kernels.worlds import copy_world, is_better, vacate


@shared_kernel
def earliest_size_in_plans(f: Molds, row: int) -> int:
    """See earliest_size: sizes that the shared plan decides come first, others only if they can end before these."""
    job, machine = f.jobs[row], f.machine[SHARED]
    best, end = job.least, NEVER
    copy_world(f, REAL, SHARED)
    vacate(f, SHARED)
    while True:
        begin(f, SHARED)
        turn = _place_up_to(f, SHARED, row)
        f.lists[SHARED, PLACE, row] = NEVER  # as long as its size is not known
        upto = _plan_sizes(f, row, best, end)
        is_last = turn + 1 == machine.turns
        until = _next_change(f, SHARED, upto) if is_last else _first_overtaking(f, SHARED, turn)
        for nodes in range(job.least, job.most + 1):
            start = f.tries[START, nodes]
            if f.tries[UNDECIDED, nodes] and start < until:
                f.tries[UNDECIDED, nodes] = 0
                if is_better(f, start, nodes, best, end):
                    best, end = nodes, start + f.tries[TIME, nodes]
        if not is_last or until > upto:
            break
        machine.now = until
        _start_those_before(f, SHARED)
    for nodes in range(job.least, job.most + 1):
        if f.tries[UNDECIDED, nodes] and is_better(f, max(until, shadow(f, SHARED, nodes)[0]), nodes, best, end):
            start = _play(f, row, nodes, best, end)
            if is_better(f, start, nodes, best, end):
                best, end = nodes, start + f.tries[TIME, nodes]
    return best


@kernel
def _plan_sizes(f: Molds, row: int, best: int, end: int) -> int:
    """Drop sizes that cannot end first any more; others get their starts by the plan. Return the last one."""
    last = -1
    for nodes in range(f.jobs[row].least, f.jobs[row].most + 1):
        if f.tries[UNDECIDED, nodes]:
            start = f.tries[START, nodes] = earliest_in_plan(f, SHARED, nodes, f.tries[TIME, nodes])
            if start < NEVER and is_better(f, shadow(f, SHARED, nodes)[0], nodes, best, end):
                last = max(last, start)
            else:
                f.tries[UNDECIDED, nodes] = 0
    return last


@shared_kernel
def _play(f: Molds, row: int, nodes: int, best: int, end: int) -> int:
    """Play on with this size; return when the job starts, or NEVER: it cannot end before the best one."""
    job, machine, places = f.jobs[row], f.machine[FORKED], f.lists[FORKED, PLACE]
    least, most = job.least, job.most
    job.least = job.most = nodes
    copy_world(f, SHARED, FORKED)
    while True:
        begin(f, FORKED)
        turn = _place_up_to(f, FORKED, row)
        _place(f, FORKED, row)
        if places[row] < _first_overtaking(f, FORKED, turn):
            break
        for i in range(turn + 1, machine.turns):
            _place(f, FORKED, f.lists[FORKED, TURNS, i])
        change = _next_change(f, FORKED, places[row])
        if change > places[row]:
            break
        machine.now = change
        _start_those_before(f, FORKED)
        first, _, _ = shadow(f, FORKED, nodes)
        if not is_better(f, first, nodes, best, end):
            places[row] = NEVER
            break
    job.least, job.most = least, most
    return places[row]


@kernel
def _place_up_to(f: Molds, world: int, row: int) -> int:
    """Those before a job get their places; return which turn it has itself."""
    turn = 0
    while f.lists[world, TURNS, turn] != row:
        _place(f, world, f.lists[world, TURNS, turn])
        turn += 1
    return turn


@shared_kernel
def _place(f: Molds, world: int, row: int) -> None:
    """A job gets its place in the plan; NEVER: there is none."""
    nodes = size_of(f, row, 1.0)
    time = time_on(f, row, nodes)
    start = f.lists[world, PLACE, row] = earliest_in_plan(f, world, nodes, time)
    if start < NEVER:
        take_in_plan(f, world, nodes, start, start + time)


@shared_kernel
def _first_overtaking(f: Molds, world: int, turn: int) -> int:
    """Return from when on a job may come before another one that has its turn by now, and has to wait until then.

    Of those behind the job that has this turn only who comes before that counts.
    """
    machine, turns, places, first = f.machine[world], f.lists[world, TURNS], f.lists[world, PLACE], NEVER
    for i in range(machine.turns):
        row = turns[i]
        aged = ages_at(f, row)
        if machine.now < aged < first and (i > turn or places[row] >= aged):
            raised = level(f, row, aged)
            for j in range(turn, turn + 1) if i > turn else range(i):
                other = turns[j]
                its_level = level(f, other, machine.now)
                if places[other] >= aged and (its_level > raised or (its_level == raised and other > row)):
                    first = aged
                    break
    return first


@kernel
def _next_change(f: Molds, world: int, upto: int) -> int:
    """Return the first iteration in which those that still wait have another order, or one beyond `upto`."""
    machine, instant = f.machine[world], f.machine[world].now
    while True:
        aged = NEVER
        for i in range(machine.turns):
            row = f.lists[world, TURNS, i]
            if instant < ages_at(f, row) <= f.lists[world, PLACE, row]:
                aged = min(aged, ages_at(f, row))
        instant = _next_end(f, world, aged) if aged <= upto else NEVER
        if instant > upto or not _keep_order(f, world, instant):
            return instant


@kernel
def _next_end(f: Molds, world: int, since: int) -> int:
    """Return the first end of a job from an instant on, by the plan."""
    machine, lists, found = f.machine[world], f.lists[world], NEVER
    for i in range(machine.running):
        if lists[RUN_END, i] >= since:
            found = lists[RUN_END, i]
            break
    for i in range(machine.turns):
        row = lists[TURNS, i]
        end = lists[PLACE, row] + time_on(f, row, size_of(f, row, 1.0))
        if since <= end < found:
            found = end
    return found


@kernel
def _keep_order(f: Molds, world: int, at: int) -> bool:
    """Whether those that wait up to an instant have their turn in the same order then."""
    lists, last_level, last = f.lists[world], -1, -1
    for i in range(f.machine[world].turns):
        row = lists[TURNS, i]
        if lists[PLACE, row] >= at:
            its_level = level(f, row, at)
            if its_level < last_level or (its_level == last_level and row < last):
                return False
            last_level, last = its_level, row
    return True


@kernel
def _start_those_before(f: Molds, world: int) -> None:
    """Jobs that have their places before this instant have started by now, and may have ended."""
    machine, lists, left = f.machine[world], f.lists[world], 0
    vacate(f, world)
    for i in range(machine.queued):
        row = lists[QUEUE, i]
        if lists[PLACE, row] >= machine.now:
            lists[QUEUE, left] = row
            left += 1
            continue
        nodes = size_of(f, row, 1.0)
        end = lists[PLACE, row] + time_on(f, row, nodes)
        if end > machine.now:
            machine.free -= nodes
            run(f, world, row, nodes, end)
    machine.queued = left
