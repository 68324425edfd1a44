"""Min-min and max-min for the jobs of one call, as often as PJS asks (Collins and George 2001, section 3).

Machines become available later and later, so that the end of a job on its best machine only rises. Therefore it is
sought again only if its machine was taken; and a schedule is given up as soon as what is placed, and the rest at its
best, are together no better than what is known.
"""

from __future__ import annotations

import math
from copy import copy
from heapq import heapify, heappop, heappush, heapreplace
from operator import itemgetter

import numpy as np

from cosched.core.scheduling.heterogeneous.calls import CANNOT, Call, Placement

Found = tuple[list[Placement], float]  # a schedule and its sum of completions; nothing and infinity: it was given up
NONE = (1 << 63) - 1


class Schedule:
    """Some jobs of a call are placed, the others wait. `machine`, `ends`: the best machine of each class,
    and when its next job would end there.

    An end and its machine are one number, the lower the earlier, and then the lower the machine. `bound`: what the sum
    of completions is at least, and exactly when all jobs are placed.
    """

    def __init__(self, call: Call) -> None:
        self._machines = machines = call.seq.shape[1]
        ends = (call.seq + call.avail) * machines + np.arange(machines)
        self._table: list[list[int]] = np.sort(np.where(call.seq < CANNOT, ends, NONE), axis=1).tolist()
        self._jobs = call.waiting()
        self._left = list(map(len, self._jobs))
        self.free: list[int] = call.avail.tolist()
        self._late = [0] * machines  # by how much later than in the table jobs end there
        self.placed: list[Placement] = []
        self.machine, self.ends = [0] * len(self._jobs), [0] * len(self._jobs)
        self._late_then = [0] * len(self._jobs)  # how late the best machine was when it was found
        self.bound = 0
        for of in self.waiting():
            self.seek(of)

    def copy(self) -> Schedule:
        """Return another one, which goes on from here."""
        other = copy(self)
        for name in ("_left", "free", "_late", "placed", "machine", "ends", "_late_then"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def waiting(self) -> list[int]:
        """Return the classes of which jobs wait."""
        return [of for of, left in enumerate(self._left) if left]

    def next_job(self, of: int) -> int:
        """Return the first job of a class that waits."""
        return self._jobs[of][self._left[of] - 1]

    def is_taken(self, of: int) -> bool:
        """Whether the best machine of a class was taken since it was found."""
        return self._late[self.machine[of]] != self._late_then[of]

    def is_next(self, end: int, job: int, of: int) -> bool:
        """Whether this job waits, and would end then."""
        return self._left[of] > 0 and self.next_job(of) == job and self.ends[of] == end

    def seek(self, of: int) -> bool:
        """Find the best machine of a class; whether its jobs end later than was known."""
        late, machines, best = self._late, self._machines, NONE
        for least in self._table[of]:
            if least >= best:
                break
            found = least + late[least % machines]
            if found < best:
                best = found
        end, machine = divmod(best, machines)
        later: int = end - self.ends[of]
        self.machine[of], self.ends[of], self._late_then[of] = machine, end, late[machine]
        self.bound += later * self._left[of]
        return later > 0

    def place(self, of: int) -> bool:
        """Place the next job of a class on its best machine; whether there are more."""
        machine, end, left = self.machine[of], self.ends[of], self._left[of] - 1
        start = self.free[machine]
        self.placed.append(Placement(self._jobs[of][left], machine, start, end))
        self._late[machine] += (end - start) * self._machines
        self.free[machine], self._left[of] = end, left
        return left > 0

    def commit(self, of: int, placement: Placement, members: list[int]) -> None:
        """Place the next job of a class on a cluster, of these machines."""
        self.placed.append(placement)
        self.bound += placement.end - self.ends[of]
        self._left[of] -= 1
        for machine in members:
            self._late[machine] += (placement.end - self.free[machine]) * self._machines
            self.free[machine] = placement.end
        for other in self.waiting():
            if self.is_taken(other):
                self.seek(other)

    def found(self, below: float) -> Found:
        """Return what was found, if it is good enough."""
        return (self.placed, self.bound) if self.bound < below else ([], math.inf)


def better(begun: Schedule, below: float = math.inf) -> Found:
    """SJS: the better of both for the jobs that wait; given up if its sum cannot be `below` a number."""
    first = min_min(begun, below)
    return min(first, max_min(begun, min(below, first[1])), key=itemgetter(1))


def min_min(begun: Schedule, below: float = math.inf) -> Found:
    """The job that ends first is placed. What is noted may be too early; that shows when it is the first."""
    made = begun.copy()
    heap = [(made.ends[of], made.next_job(of), of) for of in made.waiting()]
    heapify(heap)
    while heap and made.bound < below:
        _, job, of = heap[0]
        if made.is_taken(of) and made.seek(of):
            heapreplace(heap, (made.ends[of], job, of))
        elif made.place(of):
            made.seek(of)
            heapreplace(heap, (made.ends[of], made.next_job(of), of))
        else:
            heappop(heap)
    return made.found(below)


def max_min(begun: Schedule, below: float = math.inf) -> Found:
    """The job that ends last is placed. What is noted is passed over if it does not hold any more."""
    made = begun.copy()
    waiting = made.waiting()
    heap = [(-made.ends[of], made.next_job(of), of) for of in waiting]
    heapify(heap)
    on: dict[int, list[int]] = {}  # the classes whose best machine this is
    for of in waiting:
        on.setdefault(made.machine[of], []).append(of)
    while heap and made.bound < below:
        end, job, of = heap[0]
        if not made.is_next(-end, job, of):
            heappop(heap)
            continue
        again = on.pop(made.machine[of])
        if not made.place(of):
            again.remove(of)
        for other in again:
            made.seek(other)
            heappush(heap, (-made.ends[other], made.next_job(other), other))
            on.setdefault(made.machine[other], []).append(other)
    return made.found(below)
