"""The arrays that the kernels of one fluid domain work on. All times are whole seconds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.tables import NEVER as NEVER

UNLIMITED = 1 << 40  # a level, an age or a number of harvests that nothing reaches

NEVER_HARVEST, EVEN, FAIR, LONG, SHORT, LOW_IMPACT = range(6)
# The steps of an iteration: jobs up to the level; then free processors to running jobs, if these are favoured; to
# queued jobs; to running jobs.
LEVEL, GIVE_FIRST, ADMIT, GIVE_LAST, OVER = range(5)

QUEUED, RUNNING = int(JobState.QUEUED), int(JobState.RUNNING)

JOB = np.dtype(
    [
        (name, "i8")
        for name in (
            # what was asked for; `spare`: work that was asked for, and that the job does not need
            *("submit", "least", "ideal", "work", "spare"),
            # a resize takes `fixed` seconds, and the time to move `data` bytes
            *("fixed", "data"),
            # 1: its model is parabolic, else it is as fast as it has processors; 1: it has told its speeds and costs,
            # instead of all that; where the speed on 0 processors would then stand, which may be before the first one
            *("parabolic", "told", "curve"),
            # what it has; `left`: work, counted at `since`; it works from `resume` on
            *("procs", "left", "since", "resume"),
            # `expected`: by what was asked for; `end`: by what it needs
            *("start", "expected", "end", "harvests", "state"),
            # with mates: whether it waits for one; the instant after that at which it yielded; when it was released
            *("paired", "passed_over", "released"),
            # its slot, and one second; 0: it has none; when that may become an earlier one (SlotMoves)
            *("slot", "moves"),
            # the how-manieth it was to start, where jobs come and go
            "place",
            # up to when a mate holds for it
            "wanted_until",
        )
    ]
)

MACHINE = np.dtype(
    [
        (name, "i8")
        for name in (
            *("nodes", "avail"),
            # rules
            *("level", "harvesting", "favor_running", "resizes", "max_harvests", "protect_age", "benefit"),
            "wanted_first",
            # lengths of lists, and where the queue begins
            *("running", "head", "queued", "jobs", "submitted", "logged"),
            # with mates: ready and holding jobs, and what ready ones are to get by harvest; the last release
            *("waiting", "claimed", "released_at"),
            # how many jobs have slots
            "booked",
            # all that a harvest depends on has this version; the job that could not be had, and the version then
            *("version", "failed", "failed_version"),
            # the job for which a harvest is planned, version and instant then, and how many of WHO and SHARE that has
            *("planned_for", "planned_version", "planned_at", "planned"),
            *("now", "step", "tried", "had"),
        )
    ]
)

WHO, ROOM, SHARE, KEY = range(4)  # lists of those that take part in a harvest or a gift
LISTS = 4
# A row of the log: the job's row, the instant, its processors from then on, for which job it gave some; from when on
# it works, and when it is expected to end.
LOG = 6
SLACK = 4


class Fluid(NamedTuple):
    """All that kernels read and write; fields are untyped because records have no static type in numpy."""

    jobs: Any  # [jobs] of JOB, in the order of submission
    machine: Any  # [1] of MACHINE
    speeds: Any  # [entries] int64: of jobs that have told it, the work done in a second by least, ... ideal processors
    costs: Any  # [entries] int64: beside these, what a resize from so many processors costs in seconds
    queue: Any  # [jobs] int64, rows
    running: Any  # [the most jobs that run at once] int64, rows in the order of starting
    lists: Any  # [LISTS, as many] int64
    log: Any  # [entries, LOG] int64: every start and every resize, until they are told


def new_state(jobs: int, nodes: int, speeds: Any, costs: Any, log: int) -> Fluid:
    """Return an empty machine; `log`: how many resizes can be taken note of at once."""
    machine = np.zeros(1, MACHINE)
    machine["nodes"] = machine["avail"] = nodes
    machine["failed"] = machine["planned_for"] = machine["released_at"] = NONE
    machine["step"] = OVER
    table = np.zeros(jobs, JOB)
    table["start"] = table["end"] = table["released"] = NONE
    most = max(1, min(jobs, nodes))  # that run at once
    queue, running = np.zeros(jobs, np.int64), np.zeros(most, np.int64)
    rows = np.zeros((max(log, SLACK * (most + 1)), LOG), np.int64)
    return Fluid(table, machine, speeds, costs, queue, running, np.zeros((LISTS, most), np.int64), rows)
