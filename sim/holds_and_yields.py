"""Every hold and every yield of a replay, noted as they happen."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from cosched.workload.jobs import UNKNOWN, Ints


class HoldEnd(IntEnum):
    """How a hold ended; CANCELLED: the job was, or it lost its nodes; LASTS: it was in force when the replay ended."""

    STARTED = 0
    RELEASED = 1
    CANCELLED = 2
    LASTS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Holds:
    """The holds of one domain in order of their beginnings: row of the job, instants in s, a HoldEnd each."""

    row: Ints
    begin: Ints
    end: Ints
    ended: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Yields:
    """Instants, ascending, at which jobs of one domain yielded, and how many did."""

    time: Ints
    count: Ints


class HoldLog:
    """The holds of one domain; rows are those of the simulation's tables."""

    def __init__(self) -> None:
        self._row, self._begin, self._end, self._ended = (array("q") for _ in range(4))
        self._open: dict[int, int] = {}  # row -> index

    def begin(self, row: int, now: int) -> None:
        """The job holds from now on; nothing if it does."""
        if row in self._open:
            return
        self._open[row] = len(self._row)
        self._row.append(row)
        self._begin.append(now)
        self._end.append(UNKNOWN)
        self._ended.append(HoldEnd.LASTS)

    def end(self, row: int, now: int, how: HoldEnd) -> None:
        """The job holds no longer; nothing if it did not."""
        index = self._open.pop(row, None)
        if index is not None:
            self._end[index] = now
            self._ended[index] = how

    def holds(self, first: int, now: int) -> Holds:
        """All holds until now, with rows from `first` on counted from 0."""
        row, begin, end, ended = (_ints(column) for column in (self._row, self._begin, self._end, self._ended))
        end[ended == HoldEnd.LASTS] = now
        return Holds(row - first, begin, end, ended)


class YieldLog:
    """The yields of one domain; a job's yields at one instant are one (coscheduling.md, Enhancements)."""

    def __init__(self) -> None:
        self._time = array("q")
        self._last: dict[int, int] = {}  # row -> instant

    def note(self, row: int, now: int) -> None:
        """The job yields."""
        if self._last.get(row) != now:
            self._last[row] = now
            self._time.append(now)

    def yields(self) -> Yields:
        """Instants and counts."""
        return Yields(*np.unique(_ints(self._time), return_counts=True))


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int64)
