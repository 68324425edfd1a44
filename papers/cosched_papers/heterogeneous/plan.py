"""The commitments of a domain: which job runs next on which machines, and when each of these is available."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter

import numpy as np

from cosched.core.protocol import JobId
from cosched_papers.heterogeneous.calls import Ints


@dataclass(slots=True, eq=False)
class Commitment:
    """A job runs on a resource for `seconds`, planned from `start` to `end`; `order`: in which commitments are made.

    `has_machines`: the job is ready, holds or runs. `is_low`: jobs of high priority may take its machines, but
    not as long as it `is_ready`: an answer is awaited. `slot`: when it is to start with its mates; 0: at its turn.
    """

    job: JobId
    resource: int
    seconds: int
    order: int
    start: int = 0
    end: int = 0
    has_machines: bool = False
    is_low: bool = False
    is_ready: bool = False
    slot: int = 0

    @property
    def until(self) -> int:
        """When it ends, also if it starts at its slot only."""
        return max(self.end, self.slot + self.seconds) if self.slot else self.end

    @property
    def place(self) -> tuple[bool, int]:
        """Which commitments of a machine are before it: of those that have machines, and of others, the earlier."""
        return not self.has_machines, self.order


PLACE, HAS_MACHINES = attrgetter("place"), attrgetter("has_machines")


class Plan:
    """Each machine has a line of commitments. Nothing goes into a hole: a machine is available when its last one ends.

    `loose`: something did not happen as it was planned, so that later commitments may begin at another instant.
    """

    def __init__(self, members: Sequence[Sequence[int]], machines: int) -> None:
        self._members = members  # of each resource
        self.lines: list[list[Commitment]] = [[] for _ in range(machines)]
        self._of: dict[JobId, Commitment] = {}
        self.loose = False
        self._ends = [0] * machines  # of the last commitment
        self._firm_ends = [0] * machines  # of the last one that is not low
        self._low = [0] * machines  # how many are
        self._ready: dict[JobId, Commitment] = {}

    def __contains__(self, job: JobId) -> bool:
        return job in self._of

    def __iter__(self) -> Iterator[Commitment]:
        return iter(self._of.values())

    def of(self, job: JobId) -> Commitment | None:
        """Return the commitment of a job, if it has one."""
        return self._of.get(job)

    def members(self, commitment: Commitment) -> Sequence[int]:
        """Return the machines of a commitment."""
        return self._members[commitment.resource]

    def add(self, commitment: Commitment) -> None:
        """Commit a job. A new commitment is the last; one that was taken back has its place again."""
        self._of[commitment.job] = commitment
        for machine in self.members(commitment):
            self._insert(commitment, machine, len(self.lines[machine]))
            self._low[machine] += commitment.is_low
        self._extend(commitment)

    def remove(self, job: JobId, now: int) -> Commitment | None:
        """Take a commitment back, if there is one. Those behind it may begin earlier, unless it ends now."""
        commitment = self._of.pop(job, None)
        if commitment is not None:
            self._ready.pop(job, None)
            for machine in self.members(commitment):
                self.lines[machine].remove(commitment)
                self._low[machine] -= commitment.is_low
            self.loose |= commitment.until != now
        return commitment

    def change(self, commitment: Commitment, *, has_machines: bool, is_ready: bool, start: int, end: int) -> None:
        """Note that the job gets its machines, or loses them, or has them until another instant."""
        self.loose |= (commitment.start, commitment.end) != (start, end)
        commitment.start, commitment.end, commitment.is_ready = start, end, is_ready
        self._ready.pop(commitment.job, None)
        if is_ready:
            self._ready[commitment.job] = commitment
        if commitment.has_machines != has_machines:
            commitment.has_machines = has_machines
            for machine in self.members(commitment):
                index = self.lines[machine].index(commitment)
                del self.lines[machine][index]
                self._insert(commitment, machine, index)

    def reorder(self, commitment: Commitment, order: int) -> None:
        """Note that the commitment comes at another place."""
        commitment.order, self.loose = order, True
        for machine in self.members(commitment):
            self.lines[machine].remove(commitment)
            insort(self.lines[machine], commitment, key=PLACE)

    def _insert(self, commitment: Commitment, machine: int, index: int) -> None:
        """Give the commitment its place among those of a machine, which is at `index` if nothing is loose."""
        line = self.lines[machine]
        insort(line, commitment, key=PLACE)
        self.loose |= line[index] is not commitment

    def having(self, machine: int) -> Iterator[Commitment]:
        """Yield the commitments that have the machine: the first ones of its line."""
        return takewhile(HAS_MACHINES, self.lines[machine])

    def set_low(self, commitment: Commitment, *, is_low: bool) -> None:
        """Note whether the commitment is low."""
        if commitment.is_low != is_low:
            commitment.is_low, self.loose = is_low, True
            for machine in self.members(commitment):
                self._low[machine] += 1 if is_low else -1

    # When machines are available

    def available(self, now: int, *, without_low: bool = False) -> Ints:
        """Return when each machine is; `without_low`: if none of the low commitments were there."""
        if not without_low:
            return np.maximum(np.array(self._ends, np.int64), now)
        ends = np.maximum(np.array(self._firm_ends, np.int64), now)
        for commitment in self._ready.values():
            for machine in self.members(commitment):
                ends[machine] = max(ends[machine], commitment.until)
        return ends

    def with_low(self) -> set[int]:
        """Return the machines with low commitments."""
        return {machine for machine, count in enumerate(self._low) if count}

    def compact(self, now: int) -> None:
        """Let each commitment begin as early as its machines allow, in the order in which they were made.

        Whatever has machines beyond its expected end has them until now.
        """
        self._ends = [now] * len(self.lines)
        self._firm_ends = [now] * len(self.lines)
        for commitment in self:
            if commitment.has_machines:
                commitment.end = now + commitment.seconds if commitment.is_ready else max(commitment.end, now)
                self._extend(commitment)
        for commitment in sorted((of for of in self if not of.has_machines), key=lambda of: of.order):
            commitment.start = max(commitment.slot, *[self._ends[machine] for machine in self.members(commitment)])
            commitment.end = commitment.start + commitment.seconds
            self._extend(commitment)
        self.loose = False

    def _extend(self, commitment: Commitment) -> None:
        end, kept = commitment.until, (self._ends,) if commitment.is_low else (self._ends, self._firm_ends)
        for machine in self.members(commitment):
            for ends in kept:
                if ends[machine] < end:
                    ends[machine] = end

    def is_old(self, now: int) -> bool:
        """Return whether something is not as planned: a job is beyond its expected end, or should have begun."""
        firsts = (line[0] for line in self.lines if line)
        late = ((first.end if first.has_machines else first.start) < now for first in firsts)
        return self.loose or bool(self._ready) or any(late)

    def displaced(self, resource: int, start: int) -> list[Commitment]:
        """Return the low commitments on the machines of a resource that do not end before a placement starts."""
        found = {
            of.job: of
            for machine in self._members[resource]
            for of in self.lines[machine]
            if of.is_low and not of.is_ready and of.end > start
        }
        return sorted(found.values(), key=lambda of: of.order)
