"""The arrays that kernels work on: one record a job, one record a domain, and lists that domains share.

Each domain owns the job rows `first .. first + jobs` in trace order, so a smaller row was submitted earlier, and
the slice `base .. base + 2 * jobs + SLACK` of every list. The last domain record is no domain: dry runs of iterations
(TryStartMate) work on it, so that nothing real changes. All times are integer seconds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cosched.core.scheduling.primitives.codes import MAX_PROGRAM, NONE

NEVER = 1 << 62
FREE = -1  # in `units`: nobody has this unit
OUT = NEVER + 1  # in `units`: out of service

# Lists, one row each of `Tables.lists`. The queue has what ordering and placing need beside the job rows, so that
# they read straight through; jobs that left since the last ordering are skipped.
QUEUE, QUEUE_NODES, QUEUE_SUBMIT, QUEUE_REQUESTED = range(4)
RUN_END, RUN_NODES = 4, 5  # occupied nodes by expected end, ascending
COMPLETIONS = 6  # heap of (actual end, job row), packed
PROFILE_TIME, PROFILE_FREE = 7, 8  # the profile of a flat pool: free nodes from each time on
PLAN_FIRST, PLAN_COUNT, PLAN_START, PLAN_END = 7, 8, 9, 10  # that of a partitioned one: places given
SCRATCH = 7  # while the queue is sorted
LISTS = 11
SLACK = 8
BUDGET_UNIT = 1_000_000  # of a domain's mate budget

ROW_BITS = 28  # a completion packs (time, row) in 64 bits: up to 2**28 jobs, times below 2**35 s
MAX_ROWS = 1 << ROW_BITS
MAX_TIME = 1 << 35

# What comes first in an iteration in an instant in which a hold was forcibly released (coscheduling.md).
WANTED, OTHERS, RELEASED = range(3)

JOB = np.dtype(  # 64 bytes, what every job needs
    [
        ("submit", "i8"),
        ("nodes", "i8"),
        ("requested", "i8"),
        ("run", "i8"),
        ("start", "i8"),
        ("end", "i8"),
        ("expected", "i8"),  # when its nodes are expected to be free again
        ("block", "i4"),  # first unit it occupies (partitioned)
        ("state", "i1"),  # a JobState
        ("paired", "i1"),  # its start is a RunJob, which may come back as a hold or a yield
        ("alone", "i1"),  # paired, but coscheduling is off here or at its mate's: a dry run counts it as unpaired
        ("_", "i1"),
    ]
)

MARK = np.dtype(  # what only coscheduling needs; zero: never, none
    [
        ("boost", "f8"),  # yield boost, multiplies the score
        ("passed_over", "i8"),  # 1 + the instant at which it yielded last
        ("wanted_until", "i8"),
        ("released", "i8"),  # the instant at which its hold was released last
    ]
)

SLOT = np.dtype(  # what only domains need that start pairs without holding; zero: never, none
    [
        ("guard", "i8"),  # the latest instant to which wanted jobs may push its reservation
        ("slot", "i8"),  # 1 + the agreed instant at which it is to start with its mate
        ("block", "i4"),  # first unit of the slot's nodes (partitioned)
        ("wanted", "i1"),  # its mate has asked for it
        ("been_ready", "i1"),
        ("in_turn", "i1"),  # wanted or not, it starts in its turn only: its owner's share is used up
        ("moves", "i1"),  # a SlotMoves, of a job that has a slot
    ]
)

DOMAIN = np.dtype(
    [
        (name, "i8")
        for name in (
            # what it owns
            *("first", "jobs", "base"),
            # how it schedules
            *("nodes", "units", "unit_nodes", "policy", "backfill", "wanted_first", "plans", "meets", "budget"),
            # its lists' lengths and its nodes
            *("next_submit", "queued", "running", "completions", "free", "draining", "out"),
            # notes on the queue: 1 + the first place whose job left, order no longer by row, some score boosted, last
            # forced release
            *("first_hole", "shuffled", "boosted", "released_at"),
            # an iteration is due
            "changed",
            # answers about ready jobs may be late: others are planned meanwhile
            "answers_late",
            # the iteration in progress
            *("open", "again", "position", "reserved", "shadow", "extra", "reserved_block", "planned"),
            *("planned_at", "place_block"),
            # that of a meeting domain: whether any job may be wanted or have a slot, what it has come to, its first job
            *("marked", "slots", "wanted", "stage", "head", "head_end", "head_start", "head_block"),
            *("had_turn", "limit", "turn", "beside", "beside_block", "quoted_block"),
            # the job offered in it, on which block, whether behind a reservation, how long a hold of it may last
            *("offered", "offered_block", "backfilled", "hold_limit"),
        )
    ]
)


class Tables(NamedTuple):
    """All that kernels read and write; fields are untyped because records have no static type in numpy."""

    jobs: Any  # [jobs] of JOB
    marks: Any  # [jobs] of MARK
    slots: Any  # [jobs] of SLOT
    domains: Any  # [domains + 1] of DOMAIN
    lists: Any  # [LISTS, slots] int64
    scores: Any  # [slots] float64, beside the queue
    units: Any  # [domains + 1, units] int64, expected end of each unit's occupant, or FREE
    programs: Any  # [domains + 1, 3, MAX_PROGRAM] float64: operations, constants, stack
    clock: Any  # [5 + domains] int64: NOW, PHASE, DOMAIN, ROW; from DUE on for each domain: no job comes or ends before


NOW, PHASE, AT_DOMAIN, AT_ROW, DUE = range(5)


def new_tables(jobs_per_domain: list[int], units_per_domain: list[int]) -> Tables:
    """Empty tables for domains of so many jobs and (partitioned pools) units; of records only places are filled in."""
    total = sum(jobs_per_domain)
    if total >= MAX_ROWS:
        raise ValueError(f"{total} jobs are more than the {MAX_ROWS - 1} that one simulation holds")
    sizes = [*jobs_per_domain, max(jobs_per_domain, default=0)]
    slots = [2 * size + SLACK for size in sizes]
    domains = np.zeros(len(sizes), DOMAIN)
    domains["first"] = [sum(sizes[:i]) for i in range(len(sizes))]
    domains["base"] = [sum(slots[:i]) for i in range(len(sizes))]
    domains["jobs"] = sizes
    jobs = np.zeros(total, JOB)
    for name in ("start", "end", "expected", "block"):
        jobs[name] = NONE
    units = np.full((len(sizes), max([1, *units_per_domain])), FREE, np.int64)
    programs = np.zeros((len(sizes), 3, MAX_PROGRAM))
    lists, scores = np.empty((LISTS, sum(slots)), np.int64), np.empty(sum(slots))
    clock = np.zeros(DUE + len(sizes), np.int64)
    return Tables(jobs, np.zeros(total, MARK), np.zeros(total, SLOT), domains, lists, scores, units, programs, clock)
