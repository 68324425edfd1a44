"""Which nodes of a batch system are free when (meet.md, 1): the usable ones less what jobs and reservations take.

A node is taken as a whole, or as far as the amounts that jobs ask of it: processors, memory, devices. Licences are
counted for the whole machine. Times are whole seconds since 1970, and exact: a job fits at t if its nodes are free for
all of [t, t + its time limit).
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

FOREVER = 1 << 62
LATE = 30  # seconds that a job may be late: Slurm ended those that ignored their limits 3 to 22 s after these
LICENCES = ""  # no node's name: here the licences of the machine are taken
Amounts = Mapping[str, int]
_NOTHING: Amounts = MappingProxyType({})
_Taken = tuple[int, int, Amounts | None]  # from when to when; None: all of it


class Asks(NamedTuple):
    """What a job asks of each of its nodes (None: all of it), and the licences that it asks for."""

    amounts: Amounts | None = None
    licences: Amounts = _NOTHING


WHOLE = Asks()


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
    asks: Asks = WHOLE


class Profile:
    """The nodes from the instant `now` on. `room`: what is there of each amount, by node, and of LICENCES."""

    def __init__(self, now: int, nodes: Iterable[str], room: Mapping[str, Amounts] = MappingProxyType({})) -> None:
        self.now, self._room = now, room
        self._taken: dict[str, list[_Taken]] = {node: [] for node in (*nodes, LICENCES)}  # sorted; may overlap
        self._free = set(self._taken) - {LICENCES}  # now, at least in part

    def take(self, nodes: Iterable[str], start: int, end: int, asks: Asks = WHOLE) -> None:
        """Take nodes for [start, end); those that are not usable have nothing to be taken."""
        start = max(start, self.now)
        if start >= end:
            return
        for node in nodes:
            if node in self._taken:
                insort(self._taken[node], (start, end, asks.amounts), key=_instants)
                if start == self.now and asks.amounts is None:
                    self._free.discard(node)
        if asks.licences:
            insort(self._taken[LICENCES], (start, end, asks.licences), key=_instants)

    def take_turns(self, queue: Iterable[Waiting]) -> None:
        """Take what the jobs of a queue would take in an iteration of EASY: the first that does not fit is reserved."""
        reserved = False
        for job in queue:
            found = self.fits(job.nodes, job.seconds, job.among, asks=job.asks)
            if found is None and not reserved:
                reserved = True
                found = self.earliest(job.nodes, job.seconds, self.now, job.among, job.asks)
            elif job.passed_over:
                continue
            if found is not None:
                self.take(found.nodes, found.at, min(found.at + job.seconds, FOREVER), job.asks)

    def fits(
        self, count: int, seconds: int, among: Collection[str], after: Collection[str] = (), asks: Asks = WHOLE
    ) -> Opening | None:
        """Return where a job fits now, or None; on the nodes of `after` only as far as others do not suffice."""
        if count > len(self._free):  # as for most jobs of a long queue
            return None
        end = self._gap_at(LICENCES, self.now, asks.licences)
        if end is None or not _lasts(end, self.now, seconds):
            return None
        among = [node for node in self._free if node in among]
        return self._opening(self.now, count, seconds, among, asks, after)

    def earliest(
        self, count: int, seconds: int, not_before: int, among: Iterable[str], asks: Asks = WHOLE
    ) -> Opening | None:
        """Return where a job fits first from `not_before` on, or None if that is nowhere.

        Of the nodes that are free then it gets those that others take soonest, so that long gaps stay whole.
        """
        nodes, not_before = list(among), max(not_before, self.now)
        changes: list[tuple[int, int]] = []  # at which instant how many more nodes let the job begin
        for node in nodes:
            for first, last in self._beginnings(node, seconds, not_before, asks.amounts):
                changes += (first, 1), (last + 1, -1)
        licences = len(nodes) + 1  # they count for more than all nodes
        for first, last in self._beginnings(LICENCES, seconds, not_before, asks.licences):
            changes += (first, licences), (last + 1, -licences)
        able = 0
        for at, change in sorted(changes):  # at one instant the losses come first, since no job could begin later
            able += change
            if able >= count + licences:
                return self._opening(at, count, seconds, nodes, asks)
        return None

    def _opening(
        self, at: int, count: int, seconds: int, among: Iterable[str], asks: Asks, after: Collection[str] = ()
    ) -> Opening | None:
        ends = ((node, self._gap_at(node, at, asks.amounts)) for node in among)
        wide = ((node in after, end, node) for node, end in ends if end is not None and _lasts(end, at, seconds))
        chosen = sorted(wide)[:count]
        return Opening(at, tuple(node for _, _, node in chosen)) if len(chosen) == count else None

    def _beginnings(
        self, node: str, seconds: int, not_before: int, amounts: Amounts | None
    ) -> Iterator[tuple[int, int]]:
        """Yield the first and the last instant of each stretch in which a job could begin on this node."""
        for start, end in self._gaps(node, amounts):
            first, last = max(start, not_before), FOREVER if end == FOREVER else end - seconds
            if first <= last:
                yield first, last

    def _gap_at(self, node: str, at: int, amounts: Amounts | None) -> int | None:
        """Return the end of the node's gap at this instant; None: it is taken."""
        return next((end for start, end in self._gaps(node, amounts) if start <= at < end), None)

    def _gaps(self, node: str, amounts: Amounts | None) -> Iterator[tuple[int, int]]:
        free_from = self.now
        for start, end in self._busy(node, amounts):
            if start > free_from:
                yield free_from, start
            free_from = max(free_from, end)
        if free_from < FOREVER:
            yield free_from, FOREVER

    def _busy(self, node: str, amounts: Amounts | None) -> Iterable[tuple[int, int]]:
        """Return in which stretches, in order, these amounts (None: all of the node) cannot be had."""
        taken = self._taken.get(node)
        if taken is None:
            return [(self.now, FOREVER)]
        if amounts is None:
            return map(_instants, taken)
        room = self._room.get(node, _NOTHING)
        left = {name: room.get(name, 0) - amount for name, amount in amounts.items() if amount}
        if min(left.values(), default=0) < 0:
            return [(self.now, FOREVER)]
        return _over(left, taken)


def _over(left: Amounts, taken: Iterable[_Taken]) -> Iterator[tuple[int, int]]:
    """Yield the stretches in which all is taken, or more than what is `left` of an amount."""
    changes = [change for start, end, amounts in taken for change in ((start, 1, amounts), (end, -1, amounts))]
    whole, used = 0, Counter[str]()
    for (start, sign, amounts), (end, _, _) in pairwise(sorted(changes, key=itemgetter(0))):
        if amounts is None:
            whole += sign
        else:
            used.update({name: sign * amounts.get(name, 0) for name in left})
        if start < end and (whole or any(used[name] > most for name, most in left.items())):
            yield start, end


def _instants(taken: _Taken) -> tuple[int, int]:
    return taken[:2]


def _lasts(end: int, at: int, seconds: int) -> bool:
    return end == FOREVER or end - at >= seconds
