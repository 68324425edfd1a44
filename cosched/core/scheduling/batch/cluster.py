"""The embedded cluster scheduler of one policy domain: queue, nodes and policy over the kernels' arrays.

It offers ready jobs and is told start, hold or yield; it does not know about mates. Jobs are rows of the tables.
"""

from __future__ import annotations

import numpy as np

from cosched.core.allocation import Allocation
from cosched.core.job import JobState
from cosched.core.scheduling.batch.kernels import answers, iteration, loop
from cosched.core.scheduling.primitives import occupancy
from cosched.core.scheduling.primitives.codes import CONSERVATIVE, NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.expression import CONSTANTS, OPERATIONS
from cosched.core.scheduling.primitives.ordering import strike_row
from cosched.core.scheduling.primitives.tables import BUDGET_UNIT, NEVER, Tables
from cosched.core.scheduling.scheduler import ClusterSettings


class Cluster:
    """Domain `index` of the tables."""

    def __init__(self, tables: Tables, index: int, settings: ClusterSettings) -> None:
        self.tables = tables
        self.index = index
        self.nodes = settings.nodes
        self._record = tables.domains[index]
        self.first = int(self._record["first"])  # its first row
        self._unit_nodes = settings.partitions.unit_nodes if settings.partitions else 1
        self._start, self._hold = direct(answers.start), direct(answers.hold)
        self._pass_over, self._release = direct(answers.pass_over), direct(answers.release)
        self._try_start, self._try_ready = direct(answers.try_start), direct(answers.try_ready)
        self._requeue, self._finish = direct(answers.requeue), direct(loop.finish)
        self._abandon = direct(iteration.abandon)
        self._size, self._requested = tables.jobs["nodes"].item, tables.jobs["requested"].item
        self._state = tables.jobs["state"].item
        self._configure(settings)

    def _configure(self, settings: ClusterSettings) -> None:
        record = self._record
        record["nodes"] = record["free"] = settings.nodes
        record["units"] = settings.partitions.units if settings.partitions else 0
        record["unit_nodes"] = self._unit_nodes
        record["policy"] = settings.ordering.code
        record["backfill"] = settings.backfilling
        record["plans"] = settings.backfilling == CONSERVATIVE or settings.meets
        record["meets"] = settings.meets
        record["budget"] = int(settings.mate_budget * BUDGET_UNIT)
        record["wanted_first"] = settings.wanted_first
        record["next_submit"] = record["first"]
        record["released_at"] = record["offered"] = NONE
        program = settings.ordering.program
        if program is not None:
            for table, values in ((OPERATIONS, program.operations), (CONSTANTS, program.constants)):
                self.tables.programs[self.index, table, : len(values)] = values

    # Answers to a ready job, and to a peer's StartJob

    def start(self, row: int, now: int) -> None:
        """Start a job that has nodes (ready or holding)."""
        self._start(self.tables, self.index, row, now)

    def hold(self, row: int, now: int, until: int) -> None:
        """Keep a ready job's nodes; they are expected back at `until`."""
        self._hold(self.tables, self.index, row, now, until)

    def pass_over(self, row: int, now: int, boost: float) -> None:
        """Take a ready job's nodes back; it is passed over for the rest of this instant."""
        self._pass_over(self.tables, self.index, row, now)
        if boost != 1.0:
            self.tables.marks[row]["boost"] = boost
            self._record["boosted"] = 1

    # What happens to jobs

    def try_start(self, row: int, now: int, wanted_until: int) -> bool:
        """TryStartMate: start a queued job if an iteration run now would; else it is wanted until then."""
        return bool(self._try_start(self.tables, self.index, row, now, wanted_until))

    def try_ready(self, row: int, now: int) -> bool:
        """Make a queued job ready if an iteration run now would start it."""
        return bool(self._try_ready(self.tables, self.index, row, now))

    def give_back(self, row: int) -> None:
        """Queue a job that `try_ready` has made ready, as if nothing had happened."""
        changed = self.changed
        self._requeue(self.tables, self.index, row)
        self.changed = changed

    def want_until(self, row: int, until: int) -> None:
        """After a release the job comes before those that nobody waits for."""
        self.tables.marks[row]["wanted_until"] = until

    def release(self, row: int, now: int) -> None:
        """End a hold by force: queued again, last in the order for the rest of this instant."""
        self._release(self.tables, self.index, row, now)

    def state(self, row: int) -> JobState:
        """Return the job's state."""
        return JobState(self._state(row))

    def has(self, row: int) -> Allocation:
        """Return what a ready job has."""
        return Allocation(self._size(row))

    def has_from(self, row: int, start: int) -> Allocation:
        """Return what a job has that starts then."""
        return Allocation(self._size(row), start, start + self._requested(row))

    def cancel(self, row: int, now: int) -> None:
        """Note that the job leaves, whatever its state; a job that has ended stays as it is."""
        state = self.state(row)
        if state.final:
            return
        if state in (JobState.RUNNING, JobState.HOLDING, JobState.READY):
            self.finish(row, now, JobState.CANCELLED)
            return
        self.tables.jobs[row]["state"] = JobState.CANCELLED
        self.tables.jobs[row]["end"] = now
        if state is JobState.QUEUED:
            strike_row(self.tables, self.index, row)
        self.reschedule()

    def finish(self, row: int, now: int, how: JobState) -> None:
        """Note that a job that has nodes ends in the final state `how`; its nodes are free."""
        self._finish(self.tables, self.index, row, now, int(how))

    @property
    def changed(self) -> bool:
        """Whether an iteration is due."""
        return bool(self._record["changed"])

    @changed.setter
    def changed(self, due: bool) -> None:
        self._record["changed"] = due

    def reschedule(self) -> None:
        """Run an iteration at this instant."""
        self._record["changed"] = 1

    def offers(self, row: int) -> bool:
        """Return whether the open iteration waits for the answer about this job."""
        return bool(self._record["offered"] == row)

    def interrupt(self) -> None:
        """Give up the iteration that is open, if one is; another follows. A job that it waits for keeps its nodes."""
        if not self._record["open"]:
            return
        if self._record["offered"] != NONE:
            self._abandon(self.tables, self.index)
        self._record["open"] = 0
        self.reschedule()

    def requeue(self, row: int) -> None:
        """Note that a running job loses its nodes and is queued again; no iteration is open."""
        self._requeue(self.tables, self.index, row)

    def count_paired(self, row: int, paired: bool) -> None:
        """Note whether a dry run counts the job as paired: not if coscheduling is off here or in its mate's domain."""
        self.tables.jobs[row]["alone"] = not paired

    def count_as_of(self, since: int, now: int) -> None:
        """Let yields and releases from the instant `since` on count as of `now`."""
        marks = self.tables.marks[self.first : self.first + int(self._record["jobs"])]
        marks["passed_over"][marks["passed_over"] > since] = now + 1
        marks["released"][marks["released"] >= since] = now
        if self._record["released_at"] >= since:
            self._record["released_at"] = now

    # Nodes out of service

    def drain(self, nodes: int) -> None:
        """Take `nodes` (rounded up to units) out of service as they become free."""
        self._record["draining"] += -(-nodes // self._unit_nodes) * self._unit_nodes
        occupancy.withdraw(self.tables, self.index)
        self.reschedule()

    @property
    def draining(self) -> int:
        """Nodes that are to leave service and are still occupied."""
        return max(0, int(self._record["draining"]))

    def occupants(self) -> list[int]:
        """Rows of the jobs that have nodes, holding ones first, then the latest started."""
        jobs = self.tables.jobs[self.first : self.first + int(self._record["jobs"])]
        busy = (jobs["state"] == JobState.RUNNING) | (jobs["state"] == JobState.HOLDING)
        rows = busy.nonzero()[0]
        running_since = np.where(jobs["state"][rows] == JobState.HOLDING, NEVER, jobs["start"][rows])
        return [self.first + int(rows[i]) for i in np.lexsort((-rows, -running_since))]

    def lose(self, row: int, now: int) -> JobState:
        """The job's nodes are gone: a holding job is queued again, a running one has failed; its new state."""
        if self.state(row) is JobState.HOLDING:
            self._requeue(self.tables, self.index, row)
        else:
            self._finish(self.tables, self.index, row, now, int(JobState.FAILED))
        return self.state(row)

    def bring_back(self, nodes: int) -> None:
        """Take `nodes` (rounded up to units) into service again, as many as are out of it."""
        occupancy.restore(self.tables, self.index, -(-nodes // self._unit_nodes) * self._unit_nodes)
        self.reschedule()
