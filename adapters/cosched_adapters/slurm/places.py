"""Places in the queue: in which order Slurm looks at the jobs that wait for nodes of one partition.

This is an estimate: Slurm looks at partitions by their PriorityTier, and starts jobs out of turn by backfilling.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.machine import KEPT_BACK

_HELD = 0  # the priority of a job that somebody holds back


class Waiting(NamedTuple):
    """A job that waits for nodes; those that wait are in order."""

    after: int  # the negative of its priority
    job: int
    partitions: tuple[str, ...]


def waiting_jobs(rows: Iterable[JobRow]) -> Iterator[Waiting]:
    """Yield the jobs that wait for nodes, and for nothing else."""
    for row in rows:
        if row.state == "PENDING" and row.priority != _HELD and not row.reason.startswith(KEPT_BACK):
            yield Waiting(-row.priority, int(row.job_id), tuple(row.partitions.split(",")))


def places(found: Sequence[Waiting], wanted: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """Return the places of these jobs, from 1, and how many wait there: in its partition where it comes first."""
    lines: dict[str, list[tuple[int, int]]] = {}
    for job in sorted(found):
        for partition in job.partitions:
            lines.setdefault(partition, []).append(job[:2])
    jobs = {int(job) for job in wanted}
    return {
        str(job.job): min((bisect_right(line, job[:2]), len(line)) for line in map(lines.get, job.partitions) if line)
        for job in found
        if job.job in jobs
    }
