"""The embedded scheduler of a live domain: a `Cluster` whose jobs are not known in advance.

Jobs are known by their ids; rows of the tables are given out as jobs are submitted, so that a smaller row was submitted
earlier. The tables are renewed when their rows run out. Every job comes back as ready (RunJob), also one without a
mate; its answer may take a while, and the iteration is open meanwhile.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from cosched.core.allocation import NOT_NOW, Allocation, Given
from cosched.core.events import MayBeEarlier, Ready
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.batch.cluster import Cluster
from cosched.core.scheduling.batch.kernels import answers, iteration
from cosched.core.scheduling.open_iteration import Iterating
from cosched.core.scheduling.primitives import occupancy, ordering
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import NEVER, QUEUE, Tables, new_tables
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob, ClusterSettings
from cosched.core.scheduling.starts import RecentStarts

FIRST_ROWS = 256


class OpenCluster(Iterating):
    """The nodes and the queue of one live domain: `core.scheduling.scheduler.GroupScheduler`."""

    keeps = frozenset({"block", "boost", "been_ready", "guard", "slot", "slot_block", "slot_moves", "pushed"})
    kind = Cluster

    def __init__(self, settings: ClusterSettings) -> None:
        super().__init__()
        self.settings = settings
        self.starts = RecentStarts(settings.mate_budget_share)
        self.nodes = settings.nodes
        self._row: dict[JobId, int] = {}
        self._job: list[JobId] = []  # by row
        self._owner: dict[JobId, str] = {}  # where that matters
        self._iterate, self._enqueue = direct(iteration.iterate), direct(ordering.enqueue)
        self._make(FIRST_ROWS)

    # Jobs in

    def submit(self, job: ClusterJob) -> None:
        """A job is queued, or (after a restart) has the nodes that it had."""
        self.iteration.interrupt()
        if len(self._job) == len(self._tables.jobs):
            self._renew()
        self._add(job)
        self.iteration.take_up(job)

    def rounded(self, nodes: int) -> int:
        """See Iterating; a partitioned pool gives no other sizes than those of its partitions."""
        nodes, partitions = super().rounded(nodes), self.settings.partitions
        return int(partitions.round_up(np.array([nodes]))[0]) if partitions else nodes

    def job(self, job: JobId) -> ClusterJob:
        """Return all that is known of a job."""
        return self._read(self._row[job])

    def __contains__(self, job: JobId) -> bool:
        return job in self._row

    # Iterations

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        """Go on with the scheduling iterations; a ready job, to be answered by start, hold or pass_over.

        None if nothing is left to do, or if an answer is awaited and nothing else has changed.
        """
        if self.awaited is not None:
            return None
        if self.changed:
            self._begin(now)
        return self._go_on(now)

    def _go_on(self, now: int) -> Ready | MayBeEarlier | None:
        row = int(self._iterate(self._tables, 0, now))
        return None if row == NONE else self._ready(row)

    def _ready(self, row: int) -> Ready:
        limit = self._hold_limit(0)
        return Ready(self._job[row], self._cluster.has(row), FOREVER if limit >= NEVER else limit)

    @property
    def awaited(self) -> JobId | None:
        """The job at which the open iteration waits."""
        row: int = self._offered_row(0)
        if row == NONE or not self._is_open(0):
            return None
        return self._job[row]

    @property
    def changed(self) -> bool:
        """Whether an iteration is due."""
        return bool(self._is_changed(0))

    @changed.setter
    def changed(self, due: bool) -> None:
        self._record["changed"] = due

    def abandon(self) -> None:
        """See Iterating."""
        answers.abandon(self._tables, 0)

    def count_as_of(self, since: int, now: int) -> None:
        """See Iterating."""
        marks = self._tables.marks[: len(self._job)]
        marks["passed_over"][marks["passed_over"] > since] = now + 1
        marks["released"][marks["released"] >= since] = now
        if self._record["released_at"] >= since:
            self._record["released_at"] = now

    def passes_over(self, now: int) -> bool:
        """See Iterating."""
        count = len(self._job)
        yielded = self._tables.marks["passed_over"][:count] == now + 1
        return bool((yielded & (self._tables.jobs["state"][:count] == JobState.QUEUED)).any())

    # Answers to a ready job, and what happens to others

    def start(self, job: JobId, now: int) -> Allocation:
        """Start a job that has nodes."""
        row = self._known(job)
        self._cluster.start(row, now)
        self._forget_completions()
        return self._cluster.has_from(row, now)

    def hold(self, job: JobId, now: int, until: int) -> None:
        """Keep a ready job's nodes; they are expected back at `until`."""
        self._cluster.hold(self._known(job), now, min(until, NEVER))

    def ask_again(self, job: JobId) -> None:
        """A holding job is ready again, on its nodes."""
        self._tables.jobs[self._row[job]]["state"] = JobState.READY

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        """Take a ready job's nodes back; it is passed over for the rest of this instant."""
        late, alone = job != self.awaited, not self.changed
        self._cluster.pass_over(self._known(job), now, boost)
        self.iteration.yielded(now, late=late, alone=alone)

    def release(self, job: JobId, now: int) -> None:
        """End a hold by force."""
        self._cluster.release(self._known(job), now)

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:  # noqa: ARG002
        """TryStartMate: start a queued job if an iteration run now would; else it is wanted until then.

        A job that is not here, since its user holds it, does not start.
        """
        row = self._row.get(job)
        if row is None or not self._cluster.try_start(row, now, wanted_until):
            return NOT_NOW
        self.iteration.interrupt()
        self._forget_completions()
        return self._cluster.has_from(row, now)

    def try_ready(self, job: JobId, now: int) -> Given:
        row, changed = self._row.get(job), self.changed
        if row is None or not self._cluster.try_ready(row, now):
            return NOT_NOW
        self.iteration.keep(job, changed=changed)
        return self._cluster.has(row)

    def give_back(self, job: JobId, now: int) -> None:  # noqa: ARG002
        due = self.iteration.missed(job) or self.changed
        answers.requeue(self._tables, 0, self._row[job])
        self.changed = due

    def want_until(self, job: JobId, until: int) -> None:
        if job in self._row:
            self._tables.marks[self._row[job]]["wanted_until"] = until

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        """The job ended, or was cancelled, in the final state `how`; its nodes are free."""
        self.iteration.interrupt()
        row = self._row.pop(job)
        if self._cluster.state(row) is JobState.QUEUED:
            self._cluster.cancel(row, now)
        else:
            self._cluster.finish(row, now, how)

    def count_paired(self, job: JobId, paired: bool) -> None:
        """Whether a dry run counts the job as paired."""
        if job in self._row:
            self._cluster.count_paired(self._row[job], paired)

    # Numbers

    def used(self) -> dict[JobState, int]:
        """Return the nodes of ready, holding and running jobs."""
        jobs = self._tables.jobs[: len(self._job)]
        return {state: int(jobs["nodes"][jobs["state"] == state].sum()) for state in WITH_NODES}

    @property
    def free(self) -> int:
        """Nodes that nobody has."""
        return int(self._record["free"])

    def jobs(self) -> list[JobId]:
        """Return all jobs that are here, in the order in which they were submitted."""
        return list(self._row)

    def in_order(self, now: int) -> list[JobId]:
        """Return the queued jobs, in the order in which an iteration would look at them now; of a `copy` only."""
        ordering.drop_left(self._tables, 0)
        ordering.put_in_order(self._tables, 0, now)
        base, queued = int(self._record["base"]), int(self._record["queued"])
        rows = self._tables.lists[QUEUE, base : base + queued].tolist()
        return [self._job[row] for row in rows]

    def with_nodes(self) -> list[JobId]:
        """Return the jobs that have nodes, in the order in which they were submitted."""
        rows = np.isin(self._tables.jobs["state"][: len(self._job)], WITH_NODES).nonzero()[0].tolist()
        return [self._job[row] for row in rows]

    def shorten(self, most: int) -> None:
        """Forget all but the first jobs of the queue, as `in_order` has put them; of a `copy` only."""
        self._record["queued"] = min(most, int(self._record["queued"]))

    def copy(self) -> Self:
        """The same nodes and jobs once more, to be played on; an iteration that is open here begins anew there."""
        other = copy(self)
        other._row, other._job, other.iteration = dict(self._row), list(self._job), self.iteration.copy(other)
        other.starts = RecentStarts()
        other._tables = Tables(*(array.copy() for array in self._tables))
        other._cluster = self.kind(other._tables, 0, self.settings)
        other._tables.domains[:] = self._tables.domains
        other._look()
        other.iteration.interrupt()
        return other

    # Rows

    def _known(self, job: JobId) -> int:
        """The job's row; whatever happens to another than the awaited job ends the open iteration."""
        row = self._row[job]
        if row != self._offered_row(0):
            self.iteration.interrupt()
        return row

    def _make(self, rows: int) -> None:
        partitions = self.settings.partitions
        self._tables: Tables = new_tables([rows], [partitions.units if partitions else 0])
        self._cluster = self.kind(self._tables, 0, self.settings)
        self._look()
        self._record["next_submit"] = rows  # nothing is submitted by itself

    def _look(self) -> None:
        """Find in the tables what is read most often; a column's `item` is the quickest way."""
        domains = self._tables.domains
        self._record = domains[0]
        self._is_open, self._is_changed = domains["open"].item, domains["changed"].item
        self._offered_row, self._hold_limit = domains["offered"].item, domains["hold_limit"].item

    def _renew(self) -> None:
        """New tables with the jobs that have not ended, in their order, and room for as many more."""
        jobs = [self._read(row) for row, job in enumerate(self._job) if self._row.get(job) == row]
        released_at, boosted = int(self._record["released_at"]), int(self._record["boosted"])
        self._row.clear()
        self._job.clear()
        self._make(max(FIRST_ROWS, 2 * len(jobs)))
        for job in jobs:
            self._add(job)
        self._record["released_at"], self._record["boosted"] = released_at, boosted

    def _add(self, job: ClusterJob) -> None:
        row = len(self._job)
        self._job.append(job.id)
        self._row[job.id] = row
        self._write(row, job)
        if job.state is JobState.QUEUED:
            self._enqueue(self._tables, 0, row)
            return
        occupancy.occupy(self._tables, 0, job.nodes, int(self._tables.jobs[row]["block"]), job.expected)

    def _write(self, row: int, job: ClusterJob) -> None:
        size, time, begun = job.nodes, job.requested, (NONE, NONE)
        alone, block, boost = not job.paired, self._block(job), job.kept.get("boost", 0.0)
        # Whole records, by the order of their columns: one by one they take ten times as long.
        self._tables.jobs[row] = job.submitted, size, time, time, *begun, job.expected, block, job.state, 1, alone, 0
        self._tables.marks[row] = boost, job.passed_over, job.wanted_until, job.released
        if job.released:
            self._record["released_at"] = max(int(self._record["released_at"]), job.released)
        if boost:
            self._record["boosted"] = 1

    def _block(self, job: ClusterJob) -> int:
        on_flat_pool = self.settings.partitions is None and job.state is not JobState.QUEUED
        return occupancy.WHOLE if on_flat_pool else int(job.kept.get("block", NONE))

    def _read(self, row: int) -> ClusterJob:
        record, mark = self._tables.jobs[row], self._tables.marks[row]
        return ClusterJob(
            self._job[row],
            int(record["nodes"]),
            int(record["requested"]),
            int(record["submit"]),
            not record["alone"],
            JobState(int(record["state"])),
            int(record["expected"]),
            int(mark["passed_over"]),
            int(mark["wanted_until"]),
            int(mark["released"]),
            self._owner.get(self._job[row], ""),
            kept=self._own(row),
        )

    def _own(self, row: int) -> dict[str, Any]:
        """Return what is kept of a job beside what all schedulers know."""
        kept: dict[str, Any] = {}
        if self.settings.partitions and (block := int(self._tables.jobs[row]["block"])) != NONE:
            kept["block"] = block  # the first unit of its nodes
        if boost := float(self._tables.marks[row]["boost"]):
            kept["boost"] = boost
        return kept

    def _forget_completions(self) -> None:
        """Ends are told, not foreseen."""
        self._record["completions"] = 0
