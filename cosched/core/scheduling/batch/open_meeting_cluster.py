"""The embedded scheduler of a live domain whose pairs meet (meet.md): `OpenCluster` with wanted jobs and slots.

The iteration also waits at the turn of a queued job that could be before its slot, until `end_turn`. If anything else
changes meanwhile, it is given up and another begins, in which that job may have its turn again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from cosched.core.allocation import NOT_NOW, Allocation, Given
from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import Booked, Claimed, MayBeEarlier, Quoted, Ready
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.batch.kernels import answers
from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.primitives import occupancy, ordering
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings


def open_cluster(settings: ClusterSettings) -> OpenCluster:
    """Return the embedded scheduler of a live domain with these settings."""
    return (OpenMeetingCluster if settings.meets else OpenCluster)(settings)


class OpenMeetingCluster(OpenCluster):
    """The nodes and the queue of one live domain: `core.scheduling.scheduler.MeetingScheduler`."""

    capabilities = Capabilities(slots=True)
    kind = MeetingCluster
    _cluster: MeetingCluster

    def __init__(self, settings: ClusterSettings) -> None:
        self._turn: JobId | None = None  # the queued job whose turn the open iteration waits for
        self._wanted_early: set[JobId] = set()  # asked for before they came
        self._guarded: set[JobId] = set()  # those whose guard was told
        self._pushed: dict[JobId, int] = {}  # by how many seconds the first job; those before their turn
        super().__init__(settings)

    def _make(self, rows: int) -> None:
        super()._make(rows)
        self._record["answers_late"] = 1

    def copy(self) -> Self:
        """See OpenCluster; no owner's share is used up there."""
        other = super().copy()
        other._wanted_early, other._guarded = set(self._wanted_early), set(self._guarded)
        other._owner, other._pushed = dict(self._owner), dict(self._pushed)
        return other

    # Jobs in

    def want(self, job: JobId, wanted: bool) -> None:
        if job in self._row:
            self._cluster.want(self._row[job], wanted)
        elif wanted:
            self._wanted_early.add(job)
        else:
            self._wanted_early.discard(job)

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:
        """See OpenCluster; the job is wanted from now on."""
        row = self._row.get(job)
        if row is None:
            self._wanted_early.add(job)
            return NOT_NOW
        self._bound([row], now)
        started = super().try_start(job, now, wanted_until, start_at)
        if started is not NOT_NOW:
            self._note_push(row, now, tried=True)
            self._count_start(job, now)
        return started

    def try_ready(self, job: JobId, now: int) -> Given:
        """See OpenCluster; the job is wanted from now on. It counts as started when it starts."""
        row = self._row.get(job)
        if row is None:
            self._wanted_early.add(job)
            return NOT_NOW
        self._bound([row], now)
        ready = super().try_ready(job, now)
        if ready is not NOT_NOW:
            self._note_push(row, now, tried=True)
        return ready

    def give_back(self, job: JobId, now: int) -> None:
        super().give_back(job, now)
        self._pushed.pop(job, None)

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        super().leave(job, now, how)
        self._guarded.discard(job)
        del self._owner[job]
        self._pushed.pop(job, None)

    # Iterations

    def _go_on(self, now: int) -> Ready | MayBeEarlier | None:
        self._bound_shares(now)
        turn = self._cluster.meet(now)
        if turn is None:
            return None
        if turn.ready:
            self._note_push(turn.row, now, tried=False)
            return self._ready(turn.row)
        self._turn = self._job[turn.row]
        return MayBeEarlier(self._turn)

    @property
    def awaited(self) -> JobId | None:
        return super().awaited if self._turn is None else self._turn

    def end_turn(self, job: JobId) -> None:
        if job == self._turn:
            self._turn = None

    def abandon(self) -> None:
        """See Iterating."""
        if self._turn is None:
            super().abandon()
        else:
            self._turn, self._record["open"] = None, 0

    # Starts before their turn

    def _bound_shares(self, now: int) -> None:
        """Keep the wanted jobs in their turn whose owners have used up their shares."""
        if self.starts.share < 1:
            queued = self._tables.jobs["state"] == JobState.QUEUED
            self._bound(np.flatnonzero(queued & (self._tables.slots["wanted"] == 1)).tolist(), now)

    def _bound(self, rows: list[int], now: int) -> None:
        under_way = Counter(self._owner[job] for job in self._pushed if not self._runs(job))
        front = self._cluster.front(now) if rows and self.starts.share < 1 else None
        in_front = None if front is None else self._owner[self._job[front]]
        for row in rows:
            owner = self._owner[self._job[row]]
            may = owner != in_front and self.starts.may_start_before_turn(owner, now, under_way[owner])
            self._cluster.keep_in_turn(row, not may)

    def _runs(self, job: JobId) -> bool:
        return self._cluster.state(self._row[job]) is JobState.RUNNING

    def _note_push(self, row: int, now: int, *, tried: bool) -> None:
        if self.settings.mate_budget and (pushed := self._cluster.pushes(row, now, tried=tried)) is not None:
            self._pushed[self._job[row]] = pushed

    def _count_start(self, job: JobId, now: int) -> None:
        if self.settings.mate_budget:
            self.starts.count(self._owner[job], now, self._pushed.get(job))

    def start(self, job: JobId, now: int) -> Allocation:
        allocation = super().start(job, now)
        self._count_start(job, now)
        return allocation

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        super().pass_over(job, now, boost)
        self._pushed.pop(job, None)

    def release(self, job: JobId, now: int) -> None:
        super().release(job, now)
        self._pushed.pop(job, None)

    # Slots

    def quote(self, effect: Quote, now: int) -> Quoted:
        at = None
        if effect.job in self._row:
            with self._in_plan(effect.job) as row:
                at = self._cluster.quote(row, effect.not_before, now)
        return Quoted(effect.job, at, effect.for_peer)

    def book(self, effect: Book, now: int) -> Booked:
        booked = None
        if effect.job in self._row:
            with self._in_plan(effect.job) as row:
                if self._cluster.book(row, effect.at, now):
                    booked = self._cluster.has_from(row, effect.at)
        return Booked(effect.job, effect.at, effect.generation, booked, effect.for_peer)

    @contextmanager
    def _in_plan(self, job: JobId) -> Iterator[int]:
        """The job's row; one that is ready, but not at its turn any more, is queued meanwhile."""
        row = self._row[job]
        if self._cluster.state(row) is not JobState.READY or row == self._record["offered"]:
            yield row
            return
        self.iteration.interrupt()
        changed, record = self.changed, self._tables.jobs[row]
        nodes, block, expected = int(record["nodes"]), int(record["block"]), int(record["expected"])
        answers.requeue(self._tables, 0, row)
        self.changed = False
        yield row
        self.changed = self.changed or changed
        ordering.strike_row(self._tables, 0, row)
        occupancy.occupy(self._tables, 0, nodes, block, expected)
        record["state"] = JobState.READY

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        if job in self._row:
            self._cluster.move_slot(self._row[job], moves)

    def unbook(self, job: JobId, now: int) -> None:  # noqa: ARG002
        if job in self._row:
            self._cluster.unbook(self._row[job])

    def claim(self, effect: Claim, now: int) -> Claimed:
        row = self._row.get(effect.job)
        if row is None or not self._cluster.claim(row, now):
            return Claimed(effect.job, None, effect.for_peer)
        self.iteration.interrupt()
        return Claimed(effect.job, self._cluster.has(row), effect.for_peer)

    # Rows

    def take_changed(self) -> list[JobId]:
        """See OpenScheduler: those that have got a guard."""
        rows = np.flatnonzero(self._tables.slots["guard"][: len(self._job)]).tolist()
        guarded = [job for row in rows if self._row.get(job := self._job[row]) == row and job not in self._guarded]
        self._guarded.update(guarded)
        return guarded

    def _renew(self) -> None:
        wanted = self._tables.slots["wanted"]
        self._wanted_early.update(job for job, row in self._row.items() if wanted[row])
        super()._renew()

    def _write(self, row: int, job: ClusterJob) -> None:
        super()._write(row, job)
        mark, kept = self._tables.slots[row], job.kept
        mark["wanted"] = job.id in self._wanted_early
        self._wanted_early.discard(job.id)
        mark["been_ready"], mark["guard"] = kept.get("been_ready", False), kept.get("guard", 0)
        self._owner[job.id] = job.owner
        if "pushed" in kept:
            self._pushed[job.id] = kept["pushed"]
        if "slot" in kept and self._is_here(job.nodes, block := kept.get("slot_block", NONE)):
            mark["slot"], mark["block"] = kept["slot"] + 1, block
            mark["moves"] = kept.get("slot_moves", SlotMoves.BY_ITSELF)
        self._record["marked"] = 1

    def _is_here(self, nodes: int, block: int) -> bool:
        """Return whether the machine, which may have been larger, has these nodes."""
        partitions = self.settings.partitions
        return nodes <= self.nodes and (partitions is None or block * partitions.unit_nodes + nodes <= self.nodes)

    def _own(self, row: int) -> dict[str, Any]:
        mark, kept = self._tables.slots[row], super()._own(row)
        if mark["been_ready"]:
            kept["been_ready"] = True
        if guard := int(mark["guard"]):  # up to when wanted jobs may push its start; 0: not fixed yet
            kept["guard"] = guard
        if (slot := self._cluster.slot(row)) is not None:
            kept["slot"] = slot
            if (block := int(mark["block"])) != NONE:
                kept["slot_block"] = block
            if (moves := int(mark["moves"])) != SlotMoves.BY_ITSELF:
                kept["slot_moves"] = moves
        if (pushed := self._pushed.get(self._job[row])) is not None:
            kept["pushed"] = pushed
        return kept

    def pushed(self, job: JobId) -> int | None:
        """See OpenScheduler."""
        return self._pushed.get(job)
