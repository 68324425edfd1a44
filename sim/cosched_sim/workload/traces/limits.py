"""Time limits of jobs whose records state none of their own: UNLIMITED, or that of a partition or queue."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cosched.validation.durations import span
from cosched_sim.workload.jobs import Ints
from cosched_sim.workload.log_options import REST
from cosched_sim.workload.traces.notes import Notes

NO_LIMIT = -2  # in the place of a requested time; UNKNOWN: the log says nothing of limits


def with_limits(
    requested: Ints, run: Ints, partitions: Mapping[int, str], limits: Mapping[str, int], notes: Notes
) -> None:
    """Replace NO_LIMIT in `requested`. `partitions` has the rows where it stands, with the jobs' partitions.

    They get the limit of their partition, or that of REST. Without such a limit they get the longest limit in the log,
    or the longest run of theirs, if that was longer: a scheduler does not know when they will end.
    """
    if unused := [name for name in limits if name != REST and name not in partitions.values()]:
        notes.say(f"partition_limit: no job without a time limit of its own is in {', '.join(unused)}")
    if not partitions:
        return
    rows = np.fromiter(partitions, np.int64, len(partitions))
    given = np.array([limits.get(name, limits.get(REST, 0)) for name in partitions.values()])
    longest = max(int(requested.max()), int(run[rows].max()), 1)
    what = "limit" if longest == requested.max() else "run"
    requested[rows] = np.where(given > 0, given, longest)
    ran = run[rows] > 0
    stated, others = int((ran & (given > 0)).sum()), int((ran & (given == 0)).sum())
    taken = [f"{_get(stated)} that of partition_limit"] if stated else []
    if others:
        taken.append(f"{_get(others)} the longest {what} in the log, {span(longest)} (partition_limit states another)")
    if taken:
        notes.say(f"jobs without a time limit of their own: {', '.join(taken)}")


def _get(jobs: int) -> str:
    return f"{jobs:,} get{'s' if jobs == 1 else ''}"
