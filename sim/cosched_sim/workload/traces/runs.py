"""Jobs that ran more than once, since they were requeued: a log has a record of each run, all with the job's id."""

from __future__ import annotations

from collections import Counter

import numpy as np

from cosched.words.quantities import count
from cosched_sim.workload.jobs import Ints
from cosched_sim.workload.log_options import Runs
from cosched_sim.workload.traces.notes import Notes


def run_id(job_id: str, number: int) -> str:
    """Return what an earlier run of a job is called if it is a job of its own; runs count from 1."""
    return f"{job_id}-run{number}"


def last_counts(left_out: int) -> str:
    """Say that so many earlier runs do not count."""
    return f"left out {count(left_out, 'earlier run')}: the last run of a job counts (runs=all: each)"


def each_counts(earlier: int) -> str:
    """Say that so many earlier runs count."""
    return f"{count(earlier, 'earlier run')} counted as jobs, ID-run1, ... (runs=all)"


def chosen(ids: list[str], submit: Ints, wait: Ints, run: Ints, runs: Runs, notes: Notes) -> tuple[Ints, list[str]]:
    """Return the rows that count, in file order, and the ids of all rows.

    'last': of each job the last record that ran, else its last record. 'all': each record, but one that occurs twice
    counts once; the last one keeps the job's id. Records are in the order of submission, start and place in the file.
    """
    rows = np.arange(len(ids))
    if len(set(ids)) == len(ids):
        return rows, ids
    _, job = np.unique(np.array(ids), return_inverse=True)
    order = np.lexsort((rows, wait, submit, run > 0, job))
    followed = _equals_next(job[order])
    if runs == "last":
        out = order[followed]
        notes.say(last_counts(len(out)))
        return np.setdiff1d(rows, out), ids
    out = order[followed & np.logical_and.reduce([_equals_next(each[order]) for each in (submit, wait, run)])]
    if len(out):
        notes.say(f"left out {count(len(out), 'record')} that the log repeats")
    earlier = order[followed & ~np.isin(order, out)].tolist()
    notes.say(each_counts(len(earlier)))
    return np.setdiff1d(rows, out), _renamed(ids, earlier)


def _equals_next(values: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.append(values[1:] == values[:-1], False)


def _renamed(ids: list[str], rows: list[int]) -> list[str]:
    """Return the ids, with the numbers of the runs in these rows, which are in the order of the runs."""
    renamed = list(ids)
    numbers: Counter[str] = Counter()
    for row in rows:
        numbers[ids[row]] += 1
        renamed[row] = run_id(ids[row], numbers[ids[row]])
    return renamed
