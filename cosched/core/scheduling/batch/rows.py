"""The jobs of one live batch domain as rows of the kernels' tables, and what is kept of them.

Rows are given out as jobs are submitted, so that a smaller row was submitted earlier. The tables are renewed when their
rows run out, and when a job is queued again, which has its former place.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.base import room
from cosched.core.scheduling.batch.cluster import Cluster
from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster
from cosched.core.scheduling.primitives import occupancy, ordering
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import OUT, QUEUE, Tables, new_tables
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob, ClusterSettings


class Rows:
    """The tables, and which job is which row. `tables`, `cluster` and `record` are others after `add`."""

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings, self._meets = settings, settings.meets
        self.row: dict[JobId, int] = {}  # in the order of rows
        self.job: list[JobId] = []  # by row
        self._left: tuple[JobId, int] | None = None  # which job has left last, if none has come since, and its row
        self.owner: dict[JobId, str] = {}  # where pairs meet
        self.wanted_early: set[JobId] = set()  # asked for before they came
        self.pushed: dict[JobId, int] = {}  # by how many seconds the first job; those before their turn
        self._enqueue = direct(ordering.enqueue)
        self._make(room())

    def _make(self, rows: int) -> None:
        partitions = self._settings.partitions
        self._use(new_tables([rows], [partitions.units if partitions else 0]))
        self.record["next_submit"] = rows  # nothing is submitted by itself
        self.record["answers_late"] = self._meets

    def _use(self, tables: Tables) -> None:
        """Find in the tables what is read most often; a column's `item` is the quickest way."""
        self.tables = tables
        self.cluster = (MeetingCluster if self._meets else Cluster)(tables, 0, self._settings)
        domains = tables.domains
        self.record = domains[0]
        self.is_open, self.is_changed = domains["open"].item, domains["changed"].item
        self.offered, self.hold_limit = domains["offered"].item, domains["hold_limit"].item

    def copy(self) -> Self:
        """Return the same once more, to be played on."""
        other, before = copy(self), self.tables.domains
        other.row, other.job, other.owner = dict(self.row), list(self.job), dict(self.owner)
        other.wanted_early, other.pushed = set(self.wanted_early), dict(self.pushed)
        other._use(Tables(*(array.copy() for array in self.tables)))
        other.tables.domains[:] = before
        return other

    # Jobs in and out

    def add(self, job: ClusterJob) -> None:
        """Make a row of a job that is submitted, or that has just left and is queued again."""
        left, self._left = self._left, None
        if left is not None and left[0] == job.id:
            self._renew(self._as_before(job, left[1]), left[1])
            return
        if len(self.job) == len(self.tables.jobs):
            self._renew()
        self._add(job)

    def _as_before(self, job: ClusterJob, former: int) -> ClusterJob:
        """Return a job that is queued again with what it had in its row `former` when it started, but its nodes."""
        before = self.read(former)
        if self.tables.slots[former]["wanted"]:
            self.wanted_early.add(job.id)
        kept = {name: value for name, value in before.kept.items() if name != "block"}
        return replace(before, paired=job.paired, state=job.state, expected=NONE, owner=job.owner, kept=kept)

    def _renew(self, again: ClusterJob | None = None, former: int = NONE) -> None:
        """Make new tables with the jobs that have not ended, in their order, and room for as many more.

        `again`: a job that is queued again, and had the row `former`.
        """
        jobs = [self.read(row) for row in self.row.values()]
        if again is not None:
            jobs.insert(sum(row < former for row in self.row.values()), again)
        released_at, boosted = int(self.record["released_at"]), int(self.record["boosted"])
        out, draining, units = int(self.record["out"]), int(self.record["draining"]), self.tables.units[0] == OUT
        wanted = self.tables.slots["wanted"]
        self.wanted_early.update(job for job, row in self.row.items() if wanted[row])
        self.row.clear()
        self.job.clear()
        self._make(room(len(jobs)))
        self.record["released_at"], self.record["boosted"] = released_at, boosted
        self.record["out"], self.record["draining"], self.tables.units[0][units] = out, draining, OUT
        self.record["free"] -= out
        for job in jobs:
            self._add(job)

    def _add(self, job: ClusterJob) -> None:
        row, size, time, begun = len(self.job), job.nodes, job.requested, (NONE, NONE)
        self.job.append(job.id)
        self.row[job.id] = row
        on_flat_pool = self._settings.partitions is None and job.state is not JobState.QUEUED
        block = occupancy.WHOLE if on_flat_pool else int(job.kept.get("block", NONE))
        alone, boost = not job.paired, job.kept.get("boost", 0.0)
        # Whole records, by the order of their columns: one by one they take ten times as long.
        self.tables.jobs[row] = job.submitted, size, time, time, *begun, job.expected, block, job.state, 1, alone, 0
        self.tables.marks[row] = boost, job.passed_over, job.wanted_until, job.released
        if job.released:
            self.record["released_at"] = max(int(self.record["released_at"]), job.released)
        if boost:
            self.record["boosted"] = 1
        if self._meets:
            self._mark(row, job)
        if job.state is JobState.QUEUED:
            self._enqueue(self.tables, 0, row)
            return
        occupancy.occupy(self.tables, 0, size, int(self.tables.jobs[row]["block"]), job.expected)

    def _mark(self, row: int, job: ClusterJob) -> None:
        """Write what there is where pairs meet."""
        mark, kept = self.tables.slots[row], job.kept
        mark["wanted"] = job.id in self.wanted_early
        self.wanted_early.discard(job.id)
        mark["been_ready"], mark["guard"] = kept.get("been_ready", False), kept.get("guard", 0)
        self.owner[job.id] = job.owner
        if "pushed" in kept:
            self.pushed[job.id] = kept["pushed"]
        if "slot" in kept and self._is_here(job.nodes, block := kept.get("slot_block", NONE)):
            mark["slot"], mark["block"] = kept["slot"] + 1, block
            mark["moves"] = kept.get("slot_moves", SlotMoves.BY_ITSELF)
        self.record["marked"] = 1

    def _is_here(self, nodes: int, block: int) -> bool:
        """Return whether the machine, which may have been larger, has these nodes."""
        partitions, there = self._settings.partitions, self._settings.nodes
        return nodes <= there and (partitions is None or block * partitions.unit_nodes + nodes <= there)

    def remove(self, job: JobId) -> int:
        """Forget a job; return its row, which its caller brings into the final state."""
        self.owner.pop(job, None)
        self.pushed.pop(job, None)
        row = self.row.pop(job)
        self._left = job, row
        return row

    # Jobs by their ids

    def read(self, row: int) -> ClusterJob:
        """Return all that is known of a job."""
        record, mark = self.tables.jobs[row], self.tables.marks[row]
        kept: dict[str, Any] = {}  # beside what all schedulers know
        if self._settings.partitions and (block := int(record["block"])) != NONE:
            kept["block"] = block  # the first unit of its nodes
        if boost := float(mark["boost"]):
            kept["boost"] = boost
        if self._meets:
            self._add_marks(row, kept)
        return ClusterJob(
            self.job[row],
            int(record["nodes"]),
            int(record["requested"]),
            int(record["submit"]),
            not record["alone"],
            JobState(int(record["state"])),
            int(record["expected"]),
            int(mark["passed_over"]),
            int(mark["wanted_until"]),
            int(mark["released"]),
            self.owner.get(self.job[row], ""),
            kept=kept,
        )

    def _add_marks(self, row: int, kept: dict[str, Any]) -> None:
        mark = self.tables.slots[row]
        if mark["been_ready"]:
            kept["been_ready"] = True
        if guard := int(mark["guard"]):  # up to when wanted jobs may push its start; 0: not fixed yet
            kept["guard"] = guard
        if slot := int(mark["slot"]):
            kept["slot"] = slot - 1
            if (block := int(mark["block"])) != NONE:
                kept["slot_block"] = block
            if (moves := int(mark["moves"])) != SlotMoves.BY_ITSELF:
                kept["slot_moves"] = moves
        if (pushed := self.pushed.get(self.job[row])) is not None:
            kept["pushed"] = pushed

    # Yields and releases (OpenIteration)

    def count_as_of(self, since: int, now: int) -> None:
        """Let yields and releases from the instant `since` on count as of `now`."""
        self.cluster.count_as_of(since, now)

    def passes_over(self, now: int) -> bool:
        """Return whether some queued job has yielded at this instant."""
        count = len(self.job)
        yielded = self.tables.marks["passed_over"][:count] == now + 1
        return bool((yielded & (self.tables.jobs["state"][:count] == JobState.QUEUED)).any())

    # Numbers

    def used(self) -> dict[JobState, int]:
        """Return the nodes of ready, holding and running jobs."""
        jobs = self.tables.jobs[: len(self.job)]
        return {state: int(jobs["nodes"][jobs["state"] == state].sum()) for state in WITH_NODES}

    def in_order(self, now: int) -> list[JobId]:
        """Return the queued jobs, in the order in which an iteration would look at them now; of a `copy` only."""
        ordering.drop_left(self.tables, 0)
        ordering.put_in_order(self.tables, 0, now)
        base, queued = int(self.record["base"]), int(self.record["queued"])
        return [self.job[row] for row in self.tables.lists[QUEUE, base : base + queued].tolist()]

    def with_nodes(self) -> list[JobId]:
        """Return the jobs that have nodes, in the order in which they were submitted."""
        rows = np.isin(self.tables.jobs["state"][: len(self.job)], WITH_NODES).nonzero()[0].tolist()
        return [self.job[row] for row in rows]
