"""The allocations of running jobs: when jobs end on them, and a record of each."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched.core.allocation import Allocation
from cosched.core.scheduling.primitives.tables import NEVER
from cosched_sim.workload.jobs import UNKNOWN, Ints


class Progress:
    """What is left of the run time of one job, counted exactly. `end`: when it will have run, UNKNOWN if it waits."""

    def __init__(self, run: int) -> None:
        self.end = UNKNOWN
        self._run = run
        self._left: Fraction | int = run
        self._since = 0  # what is left was counted then
        self._on: Allocation | None = None

    def go_on(self, allocation: Allocation, now: int) -> None:
        """From now on the job has this allocation."""
        self._count(now)
        self._on = allocation
        self.end = max(now, allocation.resumes) - (-self._left // allocation.rate)  # rounded up

    def stop(self, now: int, *, keeps_work: bool) -> None:
        """Note that the job has no nodes any more."""
        self._count(now)
        if not keeps_work:
            self._left = self._run
        self._on = None
        self.end = UNKNOWN

    def _count(self, now: int) -> None:
        if self._on is not None:
            self._left -= self._on.rate * max(0, now - max(self._since, self._on.resumes))
        self._since = now


class AllocationEnd(IntEnum):
    """How an allocation ended.

    RESIZED: the job got another. LASTS: the job had it at the end of the replay. STOPPED: the job failed, or was
    cancelled.
    """

    COMPLETED = 0
    RESIZED = 1
    REQUEUED = 2
    LASTS = 3
    STOPPED = 4


@dataclass(frozen=True, slots=True, eq=False)
class Allocations:
    """The allocations of one domain in order of beginning: the job's row, the number among that job's (from 1), nodes,
    start and end in s, an AllocationEnd, the names of the nodes, joined by commas, and that of all of them together;
    empty: they have none.
    """

    row: Ints
    number: Ints
    nodes: Ints
    start: Ints
    end: Ints
    ended: Ints
    where: NDArray[np.str_]
    resource: NDArray[np.str_]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return list(zip(*(getattr(self, column.name).tolist() for column in fields(self)), strict=True))

    def by_time(self) -> Allocations:
        """Return the table in the order of starts, ends and rows: not in that of what happened at one instant."""
        return Allocations.of(sorted(self.rows(), key=lambda row: (row[3], row[4], row[0])))

    @classmethod
    def of(cls, rows: Iterable[Sequence[Any]]) -> Allocations:
        """Return the table of these rows."""
        *numbers, where, resource = list(zip(*rows, strict=True)) or [()] * len(fields(cls))
        row, number, nodes, start, end, ended = (np.array(column, np.int64) for column in numbers)
        return cls(row, number, nodes, start, end, ended, np.array(where, np.str_), np.array(resource, np.str_))


def no_allocations() -> Allocations:
    """Return a table without rows."""
    return Allocations.of([])


@dataclass(slots=True)
class _Record:
    row: int
    number: int
    nodes: int
    start: int
    where: tuple[str, ...] | None
    resource: str
    end: int = UNKNOWN
    ended: AllocationEnd = AllocationEnd.LASTS


class AllocationLog:
    """The allocations of one domain's jobs, which are known by their rows in the workload."""

    def __init__(self) -> None:
        self._records: list[_Record] = []
        self._open: dict[int, _Record] = {}  # by row
        self._numbers: Counter[int] = Counter()  # of a row so far

    def begin(self, row: int, nodes: int, now: int, where: tuple[str, ...] | None = None, resource: str = "") -> None:
        """Note that the job has so many nodes from now on, by these names; what it had for no time does not count."""
        present = self._open.get(row)
        if present is not None and now == present.start:
            present.nodes, present.where, present.resource = nodes, where, resource
        elif present is None or nodes != present.nodes:
            self.end(row, now, AllocationEnd.RESIZED)
            self._numbers[row] += 1
            self._open[row] = record = _Record(row, self._numbers[row], nodes, now, where, resource)
            self._records.append(record)

    def end(self, row: int, now: int, how: AllocationEnd) -> None:
        """End the job's allocation, if it has one."""
        present = self._open.pop(row, None)
        if present is not None:
            present.end, present.ended = now, how

    def allocations(self, now: int) -> Allocations:
        """Return all allocations until now."""
        rows = []
        for of in self._records:
            end = now if of.ended is AllocationEnd.LASTS else of.end
            rows.append((of.row, of.number, of.nodes, of.start, end, of.ended, ",".join(of.where or ()), of.resource))
        return Allocations.of(rows)


class Runs:
    """The running jobs of one domain, by their rows in the workload."""

    def __init__(self) -> None:
        self._log = AllocationLog()
        self._progress: dict[int, Progress] = {}  # of jobs that have started and not ended
        self._ends: list[tuple[int, int]] = []  # heap of (end, row) of all allocations

    def go_on(self, row: int, run: int, allocation: Allocation, now: int) -> None:
        """Note that a job of `run` seconds has this allocation from now on."""
        progress = self._progress.setdefault(row, Progress(run))
        progress.go_on(allocation, now)
        heapq.heappush(self._ends, (progress.end, row))
        self._log.begin(row, allocation.nodes, now, allocation.where, allocation.resource)

    def requeue(self, row: int, now: int, *, keeps_work: bool) -> None:
        """Note that a job has lost its nodes and waits."""
        self._progress[row].stop(now, keeps_work=keeps_work)
        self._log.end(row, now, AllocationEnd.REQUEUED)

    def stop(self, row: int, now: int, how: AllocationEnd) -> None:
        """Note that a job ends before its time, or has never run."""
        self._progress.pop(row, None)
        self._log.end(row, now, how)

    @property
    def next_end(self) -> int:
        """When the next job ends, or NEVER; the ends of former allocations do not count."""
        while self._ends:
            end, row = self._ends[0]
            if row in self._progress and self._progress[row].end == end:
                return end
            heapq.heappop(self._ends)
        return NEVER

    @property
    def next(self) -> int | None:
        """When the next job ends; None if none runs."""
        return self.next_end if self.next_end < NEVER else None

    def complete(self, now: int) -> int | None:
        """Return a job that ends now, which it does by this; None if there is none (any more)."""
        if self.next_end != now:
            return None
        _, row = heapq.heappop(self._ends)
        del self._progress[row]
        self._log.end(row, now, AllocationEnd.COMPLETED)
        return row

    def allocations(self, now: int) -> Allocations:
        """Return all allocations until now."""
        return self._log.allocations(now)
