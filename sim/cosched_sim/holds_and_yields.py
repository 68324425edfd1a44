"""Records every hold and every yield of a replay."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from cosched.core.story import What
from cosched_sim.workload.jobs import UNKNOWN, Ints


class HoldEnd(IntEnum):
    """How a hold ended. CANCELLED: so was the job, or it lost its nodes. LASTS: it was in force at the replay's end."""

    STARTED = 0
    RELEASED = 1
    CANCELLED = 2
    LASTS = 3


END_OF_HOLD = {  # by what is told of its job
    What.STARTED: HoldEnd.STARTED,
    What.RELEASED: HoldEnd.RELEASED,
    What.YIELDS: HoldEnd.RELEASED,  # if it asked again after it held
    What.LOST_NODES: HoldEnd.CANCELLED,
    What.CANCELLED: HoldEnd.CANCELLED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Holds:
    """The holds of one domain in order of beginning: the job's row, begin and end in s, and a HoldEnd."""

    row: Ints
    begin: Ints
    end: Ints
    ended: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Yields:
    """The instants at which jobs of one domain yielded, ascending, and how many did at each."""

    time: Ints
    count: Ints


class HoldLog:
    """The holds of one domain; rows are those of the simulation's tables."""

    def __init__(self) -> None:
        self._row, self._begin, self._end, self._ended = (array("q") for _ in range(4))
        self._open: dict[int, int] = {}  # row -> index

    def begin(self, row: int, now: int) -> None:
        """Begin a hold of the job, unless it holds already."""
        if row in self._open:
            return
        self._open[row] = len(self._row)
        self._row.append(row)
        self._begin.append(now)
        self._end.append(UNKNOWN)
        self._ended.append(HoldEnd.LASTS)

    def end(self, row: int, now: int, how: HoldEnd) -> bool:
        """End the job's hold, if it holds; return whether it did."""
        index = self._open.pop(row, None)
        if index is not None:
            self._end[index] = now
            self._ended[index] = how
        return index is not None

    def holds(self, first: int, now: int) -> Holds:
        """Return all holds until now; `first` is subtracted from the rows."""
        row, begin, end, ended = (_ints(column) for column in (self._row, self._begin, self._end, self._ended))
        end[ended == HoldEnd.LASTS] = now
        return Holds(row - first, begin, end, ended)


class YieldLog:
    """The yields of one domain; a job's yields at one instant count once (coscheduling.md, Enhancements)."""

    def __init__(self) -> None:
        self._time = array("q")
        self._last: dict[int, int] = {}  # row -> instant

    def note(self, row: int, now: int) -> None:
        """Note that the job yields."""
        if self._last.get(row) != now:
            self._last[row] = now
            self._time.append(now)

    def yields(self) -> Yields:
        """Return instants and counts."""
        return Yields(*np.unique(_ints(self._time), return_counts=True))


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int64)
