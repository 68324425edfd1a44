"""The embedded scheduler of a live domain: a `Cluster` whose jobs are not known in advance.

Jobs are known by their ids, and are rows of the tables. Every job comes back as ready (RunJob), also one without a
mate; its answer may take a while, and the iteration is open meanwhile.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from cosched.core.allocation import NOT_NOW, Allocation, Given
from cosched.core.events import MayBeEarlier, Ready
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.base import SchedulerBase
from cosched.core.scheduling.batch.kernels import answers, iteration
from cosched.core.scheduling.batch.open_meeting import OpenMeeting
from cosched.core.scheduling.batch.rows import Rows
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings
from cosched.core.scheduling.starts import RecentStarts


class OpenCluster(SchedulerBase):
    """The nodes and the queue of one live domain: `core.scheduling.scheduler.GroupScheduler`."""

    keeps = frozenset({"block", "boost", "been_ready", "guard", "slot", "slot_block", "slot_moves", "pushed"})
    meeting: OpenMeeting

    def __init__(self, settings: ClusterSettings) -> None:
        self.settings = settings
        self.capabilities = Capabilities(slots=settings.meets)
        self.starts = RecentStarts(settings.mate_budget_share)
        self.nodes = settings.nodes
        self.rows = Rows(settings)
        self.iteration = OpenIteration(self, self.rows)
        self.meeting = OpenMeeting(self.rows, self.iteration, self.starts, settings.mate_budget)
        self._iterate = direct(iteration.iterate)

    # Jobs in

    def submit(self, job: ClusterJob) -> None:
        self.iteration.interrupt()
        self.rows.add(job)
        self.iteration.take_up(job)

    def rounded(self, nodes: int) -> int:
        """See OpenScheduler; a partitioned pool gives no other sizes than those of its partitions."""
        nodes, partitions = super().rounded(nodes), self.settings.partitions
        return int(partitions.round_up(np.array([nodes]))[0]) if partitions else nodes

    def job(self, job: JobId) -> ClusterJob:
        return self.rows.read(self.rows.row[job])

    def __contains__(self, job: JobId) -> bool:
        return job in self.rows.row

    # Iterations

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        if self.awaited is not None:
            return None
        if self.rows.is_changed(0):
            self.iteration.begin(now)
        if self.capabilities.slots:
            turn = self.meeting.go_on(now)
            if turn is not None and not turn.ready:
                return MayBeEarlier(self.rows.job[turn.row])
            row = NONE if turn is None else turn.row
        else:
            row = int(self._iterate(self.rows.tables, 0, now))
        if row == NONE:
            return None
        limit = self.rows.hold_limit(0)
        return Ready(self.rows.job[row], self.rows.cluster.has(row), FOREVER if limit >= NEVER else limit)

    @property
    def awaited(self) -> JobId | None:
        if self.meeting.turn is not None:
            return self.meeting.turn
        row: int = self.rows.offered(0)
        return self.rows.job[row] if row != NONE and self.rows.is_open(0) else None

    @property
    def changed(self) -> bool:
        return bool(self.rows.is_changed(0))

    @changed.setter
    def changed(self, due: bool) -> None:
        self.rows.record["changed"] = due

    def abandon(self) -> None:
        if self.meeting.turn is None:
            self.rows.cluster.interrupt()
        else:
            self.meeting.abandon()

    # Answers to a ready job, and what happens to others

    def start(self, job: JobId, now: int) -> Allocation:
        row = self._known(job)
        self.rows.cluster.start(row, now)
        self.rows.record["completions"] = 0  # ends are told, not foreseen
        self.meeting.count_start(job, now)
        return self.rows.cluster.has_from(row, now)

    def hold(self, job: JobId, now: int, until: int) -> None:
        self.rows.cluster.hold(self._known(job), now, min(until, NEVER))

    def ask_again(self, job: JobId) -> None:
        self.iteration.ask_again(job)
        self.rows.tables.jobs[self.rows.row[job]]["state"] = JobState.READY

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        late, alone = self.iteration.is_late(job), not self.changed
        row = self._known(job)
        if row != self.rows.offered(0):
            self.rows.cluster.interrupt()  # its nodes are there for those before it, too
        self.rows.cluster.pass_over(row, now, boost)
        self.iteration.yielded(now, late=late, alone=alone)
        self.rows.pushed.pop(job, None)

    def release(self, job: JobId, now: int) -> None:
        self.rows.cluster.release(self._known(job), now)
        self.rows.pushed.pop(job, None)

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:  # noqa: ARG002
        """See Scheduler: a job that its user holds is not here, and does not start. Where pairs meet it is wanted."""
        row = self._tried(job, now)
        if row is None or not self.rows.cluster.try_start(row, now, wanted_until):
            return NOT_NOW
        self.iteration.interrupt()
        self.rows.record["completions"] = 0
        self.meeting.note_push(row, now, tried=True)
        self.meeting.count_start(job, now)
        return self.rows.cluster.has_from(row, now)

    def _tried(self, job: JobId, now: int) -> int | None:
        """Return the row of a job that a peer asks for; None: it is not here."""
        row = self.rows.row.get(job)
        if not self.capabilities.slots:
            return row
        if row is None:
            self.meeting.want(job, True)
        else:
            self.meeting.bound([row], now)
        return row

    def try_ready(self, job: JobId, now: int) -> Given:
        """See GroupScheduler. The job counts as started when it starts."""
        row, changed = self._tried(job, now), self.changed
        if row is None or not self.rows.cluster.try_ready(row, now):
            return NOT_NOW
        self.iteration.keep(job, changed=changed)
        self.meeting.note_push(row, now, tried=True)
        return self.rows.cluster.has(row)

    def give_back(self, job: JobId, now: int) -> None:  # noqa: ARG002
        due = self.iteration.missed(job) or self.changed
        answers.requeue(self.rows.tables, 0, self.rows.row[job])
        self.changed = due
        self.rows.pushed.pop(job, None)

    def want_until(self, job: JobId, until: int) -> None:
        if job in self.rows.row:
            self.rows.tables.marks[self.rows.row[job]]["wanted_until"] = until

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        self.iteration.interrupt()
        self.iteration.forget(job)
        row, cluster = self.rows.remove(job), self.rows.cluster
        cluster.interrupt()
        if cluster.state(row) is JobState.QUEUED:
            cluster.cancel(row, now)
        else:
            cluster.finish(row, now, how)
        self.meeting.leave(job)

    # Nodes out of service (LosesNodes); numbers are rounded up to units

    def drain(self, nodes: int) -> None:
        self.iteration.interrupt()
        self.rows.cluster.drain(nodes)

    @property
    def draining(self) -> int:
        return self.rows.cluster.draining

    def lose(self, job: JobId, now: int) -> None:
        self.rows.cluster.lose(self._known(job), now)
        self.rows.pushed.pop(job, None)

    def bring_back(self, nodes: int) -> None:
        self.iteration.interrupt()
        self.rows.cluster.bring_back(nodes)

    def count_paired(self, job: JobId, paired: bool) -> None:
        if job in self.rows.row:
            self.rows.cluster.count_paired(self.rows.row[job], paired)

    def take_changed(self) -> list[JobId]:
        return self.meeting.take_changed() if self.capabilities.slots else []

    def _known(self, job: JobId) -> int:
        """Return the job's row; whatever happens to another than the awaited job ends the open iteration."""
        self.iteration.forget(job)
        row = self.rows.row[job]
        if row != self.rows.offered(0):
            self.iteration.interrupt()
        return row

    # Numbers

    def used(self) -> dict[JobState, int]:
        return self.rows.used()

    @property
    def free(self) -> int:
        return int(self.rows.record["free"])

    def pushed(self, job: JobId) -> int | None:
        return self.rows.pushed.get(job)

    def in_order(self, now: int) -> list[JobId]:
        """See OpenScheduler; of a `copy` only."""
        return self.rows.in_order(now)

    def with_nodes(self) -> list[JobId]:
        return self.rows.with_nodes()

    def shorten(self, most: int) -> None:
        self.rows.record["queued"] = min(most, int(self.rows.record["queued"]))

    def copy(self) -> Self:
        """See Playable; no owner's share is used up there."""
        other = copy(self)
        other.rows = self.rows.copy()
        other.iteration = self.iteration.copy(other, other.rows)
        other.starts = RecentStarts()
        other.meeting = self.meeting.copy(other.rows, other.iteration, other.starts)
        other.iteration.interrupt()
        return other
