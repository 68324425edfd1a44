"""The event loop between decisions: N domains on one clock, phase by phase (scheduling.md, Time and order).

The order is that of `sim.federation.conductor`, which can also take the domains through each phase by itself.
"""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.batch.kernels.iteration import is_answered, iterate
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, unsigned
from cosched.core.scheduling.primitives.occupancy import completes, pop_completion, vacate
from cosched.core.scheduling.primitives.ordering import enqueue
from cosched.core.scheduling.primitives.tables import (
    AT_DOMAIN,
    AT_ROW,
    COMPLETIONS,
    DUE,
    MAX_ROWS,
    NEVER,
    NOW,
    PHASE,
    ROW_BITS,
    Tables,
)

# Why the loop came back to its caller.
DONE, TIMERS_DUE, SUBMITTED, ENDED, JOB_READY, MEETS = range(6)
# Where it goes on: the phases of an instant, in order.
NEXT_INSTANT, COMPLETE, TIMERS, SUBMIT, ITERATE = range(5)

PENDING, COMPLETED = int(JobState.PENDING), int(JobState.COMPLETED)


@kernel
def advance(tab: Tables, timer: int, until: int) -> tuple[int, int, int, int]:
    """Run on until something needs a decision; `timer` is the next instant at which the caller has timers, or NEVER.

    Returns why it stopped, the instant, and the domain and row of the paired job that it stopped at. TIMERS_DUE: the
    caller fires its timers of this instant. SUBMITTED, ENDED: so it is. JOB_READY: the job is started, held or passed
    over before the next call. MEETS: the caller lets this domain, which does so, iterate until nothing changes. DONE:
    nothing happens before `until`; the instant is the next one, or NEVER.
    """
    while True:
        if tab.clock[PHASE] == NEXT_INSTANT:
            instant = next_instant(tab, timer)
            if instant >= until:
                return DONE, instant, NONE, NONE
            enter(tab, instant, COMPLETE)
        why = _go_on(tab, timer)
        if why != DONE:
            return why, tab.clock[NOW], tab.clock[AT_DOMAIN], tab.clock[AT_ROW]


@kernel
def _go_on(tab: Tables, timer: int) -> int:
    """Go through what is left of an instant, phase by phase; why it stopped, or DONE."""
    clock = tab.clock
    now = clock[NOW]
    if clock[PHASE] == COMPLETE:
        if complete(tab):
            return ENDED
        enter(tab, now, TIMERS)
    if clock[PHASE] == TIMERS:
        enter(tab, now, SUBMIT)
        if timer == now:
            return TIMERS_DUE
    if clock[PHASE] == SUBMIT:
        if submit(tab):
            return SUBMITTED
        enter(tab, now, ITERATE)
    if _iterate(tab):
        return MEETS if clock[AT_ROW] == NONE else JOB_READY
    enter(tab, now, NEXT_INSTANT)
    return DONE


@kernel
def enter(tab: Tables, now: int, phase: int) -> None:
    """Begin a phase of the instant `now`; NEXT_INSTANT: the instant is over."""
    tab.clock[NOW] = now
    tab.clock[PHASE] = phase
    tab.clock[AT_DOMAIN] = 0


@kernel
def next_instant(tab: Tables, timer: int) -> int:
    """The next instant at which a job ends or is submitted, or that of the timer.

    Domains in which something has happened since the last time are looked at. What is known of the others is at worst
    too early, by jobs that were stopped: so the first is looked at, too.
    """
    now = tab.clock[NOW]
    while True:
        instant, first, is_sure = timer, NONE, True
        for d in range(len(tab.domains) - 1):
            is_known = tab.clock[DUE + d] > now
            if not is_known:
                tab.clock[DUE + d] = _next_of(tab, d)
            if tab.clock[DUE + d] < instant:
                instant, first, is_sure = tab.clock[DUE + d], d, not is_known
        if is_sure:
            return instant
        tab.clock[DUE + first] = _next_of(tab, first)
        if tab.clock[DUE + first] == instant:
            return instant


@kernel
def _next_of(tab: Tables, d: int) -> int:
    """The next instant at which a job of this domain ends or is submitted, or NEVER."""
    dom = tab.domains[d]
    instant = NEVER
    if dom.next_submit < dom.first + dom.jobs:
        instant = tab.jobs[unsigned(dom.next_submit)].submit
    completion = _next_completion(tab, d)
    if completion != NONE:
        instant = min(instant, completion >> ROW_BITS)
    return instant


@kernel
def has_running(tab: Tables) -> bool:
    """Whether any job runs."""
    for d in range(len(tab.domains) - 1):
        if _next_completion(tab, d) != NONE:
            return True
    return False


@kernel
def _next_completion(tab: Tables, d: int) -> int:
    """The packed (time, row) of the next completion, or NONE; those of jobs stopped before are skipped."""
    dom = tab.domains[d]
    while dom.completions > 0:
        key = tab.lists[COMPLETIONS, unsigned(dom.base)]
        if completes(tab, key):
            return key
        pop_completion(tab, d)
    return NONE


@kernel
def complete(tab: Tables) -> bool:
    """All jobs that end now; stops at a paired one, at whose domain and row the clock then stands."""
    clock = tab.clock
    while clock[AT_DOMAIN] < len(tab.domains) - 1:
        d = clock[AT_DOMAIN]
        if clock[DUE + d] > clock[NOW]:
            clock[AT_DOMAIN] += 1
            continue
        key = _next_completion(tab, d)
        if key == NONE or (key >> ROW_BITS) > clock[NOW]:
            clock[AT_DOMAIN] += 1
            continue
        pop_completion(tab, d)
        row = key & (MAX_ROWS - 1)
        finish(tab, d, row, clock[NOW], COMPLETED)
        if tab.jobs[unsigned(row)].paired == 1:
            clock[AT_ROW] = row
            return True
    return False


@kernel
def finish(tab: Tables, d: int, row: int, now: int, state: int) -> None:
    """A job with nodes ends at `now`, in `state`."""
    job = tab.jobs[unsigned(row)]
    vacate(tab, d, job.nodes, job.block, job.expected)
    job.state = state
    job.end = now
    tab.domains[d].changed = 1


@kernel
def submit(tab: Tables) -> bool:
    """All jobs submitted now, in trace order; stops at a paired one."""
    clock = tab.clock
    while clock[AT_DOMAIN] < len(tab.domains) - 1:
        if clock[DUE + clock[AT_DOMAIN]] > clock[NOW]:
            clock[AT_DOMAIN] += 1
            continue
        dom = tab.domains[clock[AT_DOMAIN]]
        row = dom.next_submit
        if row >= dom.first + dom.jobs or tab.jobs[unsigned(row)].submit > clock[NOW]:
            clock[AT_DOMAIN] += 1
            continue
        dom.next_submit += 1
        if tab.jobs[unsigned(row)].state != PENDING:
            continue  # cancelled before it was submitted
        enqueue(tab, clock[AT_DOMAIN], row)
        if tab.jobs[unsigned(row)].paired == 1:
            clock[AT_ROW] = row
            return True
    return False


@kernel
def _iterate(tab: Tables) -> bool:
    """Rounds over the domains until no domain changes; stops at a ready paired job, or (no row) a domain that meets."""
    clock = tab.clock
    while True:
        while clock[AT_DOMAIN] < len(tab.domains) - 1:
            clock[AT_ROW] = NONE
            dom = tab.domains[clock[AT_DOMAIN]]
            if dom.meets == 0:
                clock[AT_ROW] = iterate(tab, clock[AT_DOMAIN], clock[NOW])
            if clock[AT_ROW] != NONE or dom.changed == 1 or (dom.meets == 1 and is_answered(tab, clock[AT_DOMAIN])):
                return True
            clock[AT_DOMAIN] += 1
        clock[AT_DOMAIN] = 0
        if not _any_changed(tab):
            return False


@kernel
def _any_changed(tab: Tables) -> bool:
    for d in range(len(tab.domains) - 1):
        if tab.domains[d].changed == 1:
            return True
    return False
