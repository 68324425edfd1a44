"""The arrays that the kernels of one molding domain work on. All times are whole seconds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.tables import NEVER as NEVER

TRADITIONAL, SCOJO, SCOJO_P = range(3)  # by which rule sizes are chosen when jobs start

JOB = np.dtype(
    [
        (name, "i8")
        for name in (
            # what was asked for: `ideal` is N_opt, and the times are those on it
            *("submit", "ideal", "run", "requested"),
            # N_min and N_max; what is guaranteed
            *("least", "most", "guaranteed"),
            # where its run times on 1, 2, ... nodes begin; NONE: it has the simple curve
            "times",
            # what became of it
            *("size", "start", "end"),
        )
    ]
)

MACHINE = np.dtype(
    [
        (name, "i8")
        for name in (
            *("nodes", "free", "now"),
            # rules; `selects`: a job chooses its size when it is submitted; `backfill`: EASY, or CONSERVATIVE
            *("sizing", "max_bad", "selects", "backfill"),
            # lengths of lists, and how many jobs of a trace were submitted, and have started
            *("queued", "turns", "running", "submitted", "started"),
            # the iteration: which turn is the next one; whether the first job waits, until when, and what is left then;
            # or how many steps the plan has
            *("position", "waits", "reserved", "extra", "planned"),
            # what it has come to: the size of a job that can start, how that came about, until when it may hold (Ready)
            *("size", "by", "limit"),
            # the job to which a size was guaranteed in this iteration, or NONE
            "guaranteed",
        )
    ]
)

TARGET, NOW, BEHIND = range(3)  # how a size came about

# The lists of a world; running jobs by their expected ends; when jobs start by a plan, by rows.
QUEUE, TURNS, RUN_ROW, RUN_END, RUN_NODES, PLACE = range(6)
LISTS = 6
REAL, SHARED, FORKED = range(3)  # worlds: the real one; those in which Cirne-Berman plays what would come
WORLDS = 3

IDEAL, DELTA = range(2)  # of figure 2
RULES = 2
WHOLE_DAY = 48  # of `arrivals`: their sum
# Means of a class; its bounds; its curve of Downey's, or 0.
NODES, RUN, MOLDABLE, LEAST, MOST, A, SIGMA = range(7)
MEANS = 7
UNDECIDED, TIME, START = range(3)  # of `tries`, by size
TRIES = 3
STEP_TIME, STEP_FREE = range(2)  # of `steps`


class Molds(NamedTuple):
    """All that kernels read and write; fields are untyped because records have no static type in numpy."""

    jobs: Any  # [rows] of JOB
    machine: Any  # [WORLDS] of MACHINE
    lists: Any  # [WORLDS, LISTS, rows] int64
    modifiers: Any  # [WORLDS] float64: of the first job
    rules: Any  # [RULES] float64
    arrivals: Any  # [classes, 49] float64: what is expected in each half hour, and in a day; no classes: nothing is
    means: Any  # [classes, MEANS] float64
    times: Any  # [entries] int64: run times, by jobs and sizes
    started: Any  # [rows] int64: jobs of a trace in the order of their starts
    tries: Any  # [TRIES, nodes + 1] int64: the sizes that a job tries, see UNDECIDED
    steps: Any  # [2, 2 * rows + 1] int64: the plan of the world whose iteration is open, see STEP_TIME


def new_state(rows: int, nodes: int, times: Any) -> Molds:
    """Return an empty machine; its rules are still to be filled in."""
    machine = np.zeros(WORLDS, MACHINE)
    machine["nodes"] = machine["free"] = nodes
    machine["guaranteed"] = NONE
    return Molds(
        jobs=np.zeros(rows, JOB),
        machine=machine,
        lists=np.empty((WORLDS, LISTS, rows), np.int64),
        modifiers=np.ones(WORLDS),
        rules=np.zeros(RULES),
        arrivals=np.zeros((0, WHOLE_DAY + 1)),
        means=np.zeros((0, MEANS)),
        times=times,
        started=np.empty(rows, np.int64),
        tries=np.empty((TRIES, nodes + 1), np.int64),
        steps=np.empty((2, 2 * rows + 1), np.int64),
    )
