"""Which nodes of a batch system are free when (meet.md, 1): the usable ones less what jobs and reservations take.

A node is taken as a whole, also by a job that shares it. Times are whole seconds since 1970, and exact: a job fits at t
if its nodes are free for all of [t, t + its time limit).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

FOREVER = 1 << 62
LATE = 30  # seconds that a job may be late: Slurm ended those that ignored their limits 3 to 22 s after these


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a job fits: from `at` on, on these nodes."""

    at: int
    nodes: tuple[str, ...]


class Waiting(NamedTuple):
    """A job of the queue. `passed_over`: it does not start, though it could."""

    nodes: int
    seconds: int  # FOREVER: no limit
    among: Collection[str]
    passed_over: bool = False


class Profile:
    """The nodes from the instant `now` on."""

    def __init__(self, now: int, nodes: Iterable[str]) -> None:
        self.now = now
        self._taken: dict[str, list[tuple[int, int]]] = {node: [] for node in nodes}  # sorted; may overlap
        self._free = set(self._taken)  # now

    def take(self, nodes: Iterable[str], start: int, end: int) -> None:
        """Take nodes for [start, end); those that are not usable have nothing to be taken."""
        for node in nodes:
            if node in self._taken and max(start, self.now) < end:
                insort(self._taken[node], (start, end))
                if start <= self.now:
                    self._free.discard(node)

    def take_turns(self, queue: Iterable[Waiting]) -> None:
        """Take what the jobs of a queue would take in an iteration of EASY: the first that does not fit is reserved."""
        reserved = False
        for job in queue:
            if (found := self.fits(job.nodes, job.seconds, job.among)) is None and not reserved:
                reserved = True
                found = self.earliest(job.nodes, job.seconds, self.now, job.among)
            elif job.passed_over:
                continue
            if found is not None:
                self.take(found.nodes, found.at, min(found.at + job.seconds, FOREVER))

    def fits(self, count: int, seconds: int, among: Collection[str], after: Collection[str] = ()) -> Opening | None:
        """Return where a job fits now, or None; on the nodes of `after` only as far as others do not suffice."""
        if count > len(self._free):  # as for most jobs of a long queue
            return None
        return self._opening(self.now, count, seconds, (node for node in self._free if node in among), after)

    def earliest(self, count: int, seconds: int, not_before: int, among: Iterable[str]) -> Opening | None:
        """Return where a job fits first from `not_before` on, or None if that is nowhere.

        Of the nodes that are free then it gets those that others take soonest, so that long gaps stay whole.
        """
        nodes = list(among)
        changes: list[tuple[int, int]] = []  # at which instant how many more nodes let the job begin
        for node in nodes:
            for first, last in self._beginnings(node, seconds, max(not_before, self.now)):
                changes += (first, 1), (last + 1, -1)
        able = 0
        for at, change in sorted(changes):  # at one instant the losses come first, since no job could begin later
            able += change
            if able >= count:
                return self._opening(at, count, seconds, nodes)
        return None

    def _opening(
        self, at: int, count: int, seconds: int, among: Iterable[str], after: Collection[str] = ()
    ) -> Opening | None:
        ends = ((node, self._gap_at(node, at)) for node in among)
        wide = ((node in after, end, node) for node, end in ends if end is not None and _lasts(end, at, seconds))
        chosen = sorted(wide)[:count]
        return Opening(at, tuple(node for _, _, node in chosen)) if len(chosen) == count else None

    def _beginnings(self, node: str, seconds: int, not_before: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the last instant of each stretch in which a job could begin on this node."""
        for start, end in self._gaps(node):
            first, last = max(start, not_before), FOREVER if end == FOREVER else end - seconds
            if first <= last:
                yield first, last

    def _gap_at(self, node: str, at: int) -> int | None:
        """Return the end of the node's gap at this instant; None: it is taken."""
        return next((end for start, end in self._gaps(node) if start <= at < end), None)

    def _gaps(self, node: str) -> Iterator[tuple[int, int]]:
        free_from = self.now
        for start, end in self._taken.get(node, [(self.now, FOREVER)]):
            if start > free_from:
                yield free_from, start
            free_from = max(free_from, end)
        if free_from < FOREVER:
            yield free_from, FOREVER


def _lasts(end: int, at: int, seconds: int) -> bool:
    return end == FOREVER or end - at >= seconds
