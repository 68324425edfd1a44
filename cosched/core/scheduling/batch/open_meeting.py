"""What an `OpenCluster` holds for pairs that meet (meet.md): wanted jobs, starts before their turn, and slots.

The iteration also waits at the turn of a queued job that could be before its slot, until `end_turn`. If anything else
changes meanwhile, it is given up and another begins, in which that job may have its turn again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from decimal import Decimal
from typing import cast

import numpy as np

from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import Booked, Claimed, Quoted
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.batch.kernels import answers
from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster, Turn
from cosched.core.scheduling.batch.rows import Rows
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.primitives import occupancy, ordering
from cosched.core.scheduling.starts import RecentStarts


class OpenMeeting:
    """See Meeting. A domain that does not meet wants and books nothing."""

    def __init__(self, rows: Rows, iteration: OpenIteration, starts: RecentStarts, budget: Decimal) -> None:
        """`budget`: see `ClusterSettings.mate_budget`."""
        self._rows, self._iteration, self._starts, self._budget = rows, iteration, starts, budget
        self.turn: JobId | None = None  # the queued job whose turn the open iteration waits for
        self._guarded: set[JobId] = set()  # those whose guard was told

    @property
    def _cluster(self) -> MeetingCluster:
        return cast(MeetingCluster, self._rows.cluster)

    def copy(self, rows: Rows, iteration: OpenIteration, starts: RecentStarts) -> OpenMeeting:
        """Return the same once more, for a copy of the scheduler, with the parts of that."""
        other = copy(self)
        other._rows, other._iteration, other._starts = rows, iteration, starts
        other._guarded = set(self._guarded)
        return other

    def leave(self, job: JobId) -> None:
        self._guarded.discard(job)

    # Iterations

    def go_on(self, now: int) -> Turn | None:
        """Go on up to the next turn; None: nothing is left to do."""
        self._bound_shares(now)
        turn = self._cluster.meet(now)
        if turn is not None and turn.ready:
            self.note_push(turn.row, now, tried=False)
        elif turn is not None:
            self.turn = self._rows.job[turn.row]
        return turn

    def end_turn(self, job: JobId) -> None:
        if job == self.turn:
            self.turn = None

    def abandon(self) -> None:
        """Give up an iteration that waits at such a turn."""
        self.turn, self._rows.record["open"] = None, 0

    # Starts before their turn

    def want(self, job: JobId, wanted: bool) -> None:
        if job in self._rows.row:
            self._cluster.want(self._rows.row[job], wanted)
        elif wanted:
            self._rows.wanted_early.add(job)
        else:
            self._rows.wanted_early.discard(job)

    def _bound_shares(self, now: int) -> None:
        """Keep the wanted jobs in their turn whose owners have used up their shares."""
        if self._starts.share < 1:
            tables = self._rows.tables
            queued = tables.jobs["state"] == JobState.QUEUED
            self.bound(np.flatnonzero(queued & (tables.slots["wanted"] == 1)).tolist(), now)

    def bound(self, rows: list[int], now: int) -> None:
        """Say of wanted jobs whether they may start before their turn."""
        known, starts = self._rows, self._starts
        under_way = Counter(known.owner[job] for job in known.pushed if not self._runs(job))
        front = self._cluster.front(now) if rows and starts.share < 1 else None
        in_front = None if front is None else known.owner[known.job[front]]
        for row in rows:
            owner = known.owner[known.job[row]]
            may = owner != in_front and starts.may_start_before_turn(owner, now, under_way[owner])
            self._cluster.keep_in_turn(row, not may)

    def _runs(self, job: JobId) -> bool:
        return self._cluster.state(self._rows.row[job]) is JobState.RUNNING

    def note_push(self, row: int, now: int, *, tried: bool) -> None:
        """Note that a job has nodes, perhaps before its turn."""
        if self._budget and (pushed := self._cluster.pushes(row, now, tried=tried)) is not None:
            self._rows.pushed[self._rows.job[row]] = pushed

    def count_start(self, job: JobId, now: int) -> None:
        if self._budget:
            self._starts.count(self._rows.owner[job], now, self._rows.pushed.get(job))

    # Slots

    def quote(self, effect: Quote, now: int) -> Quoted:
        at = None
        if effect.job in self._rows.row:
            with self._in_plan(effect.job) as row:
                at = self._cluster.quote(row, effect.not_before, now)
        return Quoted(effect.job, at, effect.for_peer)

    def book(self, effect: Book, now: int) -> Booked:
        booked = None
        if effect.job in self._rows.row:
            with self._in_plan(effect.job) as row:
                if self._cluster.book(row, effect.at, now):
                    booked = self._cluster.has_from(row, effect.at)
        return Booked(effect.job, effect.at, effect.generation, booked, effect.for_peer)

    @contextmanager
    def _in_plan(self, job: JobId) -> Iterator[int]:
        """Yield the job's row; one that is ready, but not at its turn any more, is queued meanwhile."""
        tables, domain, row = self._rows.tables, self._rows.record, self._rows.row[job]
        if self._cluster.state(row) is not JobState.READY or row == domain["offered"]:
            yield row
            return
        self._iteration.interrupt()
        changed, record = int(domain["changed"]), tables.jobs[row]
        nodes, block, expected = int(record["nodes"]), int(record["block"]), int(record["expected"])
        answers.requeue(tables, 0, row)
        domain["changed"] = 0
        yield row
        domain["changed"] |= changed
        ordering.strike_row(tables, 0, row)
        occupancy.occupy(tables, 0, nodes, block, expected)
        record["state"] = JobState.READY

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        if job in self._rows.row:
            self._cluster.move_slot(self._rows.row[job], moves)

    def unbook(self, job: JobId, now: int) -> None:  # noqa: ARG002
        if job in self._rows.row:
            self._cluster.unbook(self._rows.row[job])

    def claim(self, effect: Claim, now: int) -> Claimed:
        row = self._rows.row.get(effect.job)
        if row is None or not self._cluster.claim(row, now):
            return Claimed(effect.job, None, effect.for_peer)
        self._iteration.interrupt()
        self._iteration.ask_again(effect.job)
        return Claimed(effect.job, self._cluster.has(row), effect.for_peer)

    def take_changed(self) -> list[JobId]:
        """Return the jobs that have got a guard since the last time."""
        known = self._rows
        rows = np.flatnonzero(known.tables.slots["guard"][: len(known.job)]).tolist()
        guarded = [job for row in rows if known.row.get(job := known.job[row]) == row and job not in self._guarded]
        self._guarded.update(guarded)
        return guarded
