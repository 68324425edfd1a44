"""Assigns nodes to jobs for a picture. The scheduler only counts nodes, so they are assigned here afterwards.

A job gets the lowest free nodes in one piece if there is room, else in as few pieces as possible. A job that starts
from a hold keeps the nodes it held, and one that is resized keeps what it can.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars

from cosched_sim.reports.run import RunDomain
from cosched_sim.workload.jobs import Ints


@dataclass(frozen=True, slots=True)
class Pieces:
    """Rectangles of nodes and time, as arrays of equal length.

    Row `job` of the domain's jobs has `nodes` nodes, the lowest of which is `first`, from `begin` to `end` (s).
    """

    job: Ints
    first: Ints
    nodes: Ints
    begin: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class Layout:
    """The rectangles of a domain's runs and holds."""

    runs: Pieces
    holds: Pieces


class FreeNodes:
    """The free nodes of a machine, as ranges."""

    def __init__(self, nodes: int) -> None:
        self._first, self._count = [0], [nodes]  # ascending; no two ranges touch

    def take(self, wanted: int) -> list[tuple[int, int]]:
        """Take `wanted` nodes, or all, as ranges (first, number): the lowest that fits, else the fewest pieces."""
        taken = []
        while wanted and self._count:
            index = next((at for at, count in enumerate(self._count) if count >= wanted), None)
            if index is None:
                index = self._count.index(max(self._count))
            taken.append(self._cut(index, min(wanted, self._count[index])))
            wanted -= taken[-1][1]
        return taken

    def _cut(self, index: int, wanted: int) -> tuple[int, int]:
        first, count = self._first[index], self._count[index]
        if count == wanted:
            del self._first[index], self._count[index]
        else:
            self._first[index], self._count[index] = first + wanted, count - wanted
        return first, wanted

    def give_back(self, ranges: list[tuple[int, int]]) -> None:
        """Give back ranges that `take` returned."""
        for first, count in ranges:
            index = bisect_left(self._first, first)
            self._first.insert(index, first)
            self._count.insert(index, count)
            self._join(index)
            self._join(index - 1)

    def _join(self, index: int) -> None:
        """Join the range at `index` with the next if they touch."""
        if 0 <= index < len(self._first) - 1 and self._first[index] + self._count[index] == self._first[index + 1]:
            self._count[index] += self._count.pop(index + 1)
            del self._first[index + 1]


@dataclass(frozen=True, slots=True)
class _Stays:
    """Times in which a job keeps the same nodes: a hold, a run, or a hold and the run that follows it.

    `before`: of a job that goes on with other nodes, where it had the former ones; else -1.
    """

    job: Ints
    nodes: Ints
    begin: Ints
    end: Ints
    start: Ints  # when the hold ends; the run, if any, begins then
    before: Ints


def lay_out(domain: RunDomain) -> Layout:
    """Assign nodes to every hold and run of a domain."""
    stays = _stays(domain)
    which, first, nodes = _place(stays, domain.nodes)
    job, begin, start, end = (column[which] for column in (stays.job, stays.begin, stays.start, stays.end))
    held, ran = begin < start, start < end
    return Layout(
        Pieces(job[ran], first[ran], nodes[ran], start[ran], end[ran]),
        Pieces(job[held], first[held], nodes[held], begin[held], start[held]),
    )


def _stays(domain: RunDomain) -> _Stays:
    runs = domain.runs
    parts = [runs.with_columns(begin="start")]
    if domain.holds is not None:
        rows = domain.jobs.select("job_id").with_row_index("job").cast({"job": polars.Int64})
        holds = domain.holds.join(rows, on="job_id", maintain_order="left").with_columns(start="end")
        goes_on = polars.col("ended") == "started"
        started = holds.filter(goes_on).drop("end").join(runs.drop("nodes"), on=["job", "start"], maintain_order="left")
        without_hold = runs.join(started, on=["job", "start"], how="anti", maintain_order="left")
        parts = [holds.filter(~goes_on), started, without_hold.with_columns(begin="start")]
    found = polars.concat(part.select("job", "nodes", "begin", "end", "start") for part in parts)
    found = found.sort("begin", "job", maintain_order=True)
    columns = {name: found[name].cast(polars.Int64).to_numpy() for name in found.columns}
    return _Stays(**columns, before=np.full(len(found), -1) if domain.allocations is None else _before(found))


def _before(stays: polars.DataFrame) -> Ints:
    """Return for each stay the one of the same job that ends as it begins, or -1."""
    lasting = stays.with_row_index("at").filter(polars.col("begin") < polars.col("end"))
    found = lasting.join(lasting.select("job", former="at", begin="end"), on=["job", "begin"])
    before = np.full(len(stays), -1)
    before[found["at"].to_numpy()] = found["former"].to_numpy()
    return before


def _place(stays: _Stays, nodes: int) -> tuple[Ints, Ints, Ints]:
    """Return for each piece its stay, its first node, and its number of nodes."""
    free = FreeNodes(nodes)
    wanted, momentary, before = stays.nodes.tolist(), (stays.begin == stays.end).tolist(), stays.before.tolist()
    goes_on = set(before)
    given: list[list[tuple[int, int]]] = [[] for _ in wanted]
    for stay, begins in _in_order(stays):
        if begins:
            kept, rest = _parted(given[before[stay]], wanted[stay]) if before[stay] >= 0 else ([], [])
            free.give_back(rest)
            given[stay] = kept + free.take(wanted[stay] - sum(count for _, count in kept))
        if momentary[stay] or not (begins or stay in goes_on):
            free.give_back(given[stay])
    which = np.repeat(np.arange(len(given)), [len(ranges) for ranges in given])
    ranges = np.array([piece for ranges in given for piece in ranges], np.int64).reshape(-1, 2)
    return which, ranges[:, 0], ranges[:, 1]


def _parted(ranges: list[tuple[int, int]], nodes: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Part ranges into the first so many nodes and the rest."""
    kept, rest = [], []
    for first, count in ranges:
        share = min(count, nodes)
        nodes -= share
        kept.append((first, share))
        rest.append((first + share, count - share))
    return [each for each in kept if each[1]], [each for each in rest if each[1]]


def _in_order(stays: _Stays) -> Iterator[tuple[int, bool]]:
    """Yield stays as they begin (True) and end (False).

    At an instant those come first that give nodes back: ends, except of stays of no length, and beginnings on fewer.
    """
    count = len(stays.begin)
    lasting = np.flatnonzero(stays.end > stays.begin)
    which = np.concatenate((lasting, np.arange(count)))
    begins = np.repeat([False, True], [len(lasting), count])
    takes = begins & ~((stays.before >= 0) & (stays.nodes <= stays.nodes[stays.before]))[which]
    order = np.lexsort((which, takes, np.concatenate((stays.end[lasting], stays.begin))))
    yield from zip(which[order].tolist(), begins[order].tolist(), strict=True)
