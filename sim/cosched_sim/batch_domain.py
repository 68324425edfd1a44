"""The scheduler of one domain in the compiled world: jobs by their ids, and a log of holds and yields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.core.allocation import NOT_NOW, Allocation, Given
from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import Booked, Claimed, Quoted, Ready
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.batch.cluster import Cluster
from cosched_sim.holds_and_yields import HoldEnd, HoldLog, YieldLog
from cosched_sim.workload.allocations import AllocationEnd, AllocationLog, Allocations
from cosched_sim.workload.jobs import UNKNOWN, Ints

if TYPE_CHECKING:
    from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster

ENDS = {  # how the last allocation of a job in such a state has ended
    JobState.RUNNING: AllocationEnd.LASTS,
    JobState.COMPLETED: AllocationEnd.COMPLETED,
    JobState.FAILED: AllocationEnd.STOPPED,
    JobState.CANCELLED: AllocationEnd.STOPPED,
}


class BatchDomain:
    """The paired jobs of one domain of the tables, by row: `core.scheduling.scheduler.GroupScheduler`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.row: dict[JobId, int] = {}
        self.holds = HoldLog()
        self.yields = YieldLog()
        self.releases = 0
        self.runs: dict[int, list[tuple[int, int]]] = {}  # those after which a job was queued again, by its row there
        self.late: dict[int, int] = {}  # rows of jobs whose answers are late, and when they became ready

    def next(self, now: int) -> Ready | None:  # noqa: ARG002
        """Not used: the world iterates all its domains together, and says what is ready."""
        return None

    def start(self, job: JobId, now: int) -> Allocation:
        row = self.row[job]
        if self.late:
            self._take_late(row)
        self.holds.end(row, now, HoldEnd.STARTED)
        self.cluster.start(row, now)
        return self.cluster.has_from(row, now)

    def hold(self, job: JobId, now: int, until: int) -> None:
        row = self.row[job]
        if self.late:
            self._take_late(row)
        self.holds.begin(row, now)
        self.cluster.hold(row, now, until)

    def ask_again(self, job: JobId) -> None:
        """Do nothing: all answers come at this instant, so the hold does not end in between."""

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        row = self.row[job]
        since = self._take_late(row) if self.late else None
        if self.holds.end(row, now, HoldEnd.RELEASED):  # it asked again after one
            self.cluster.interrupt()  # its nodes are there for those before it, too
        self.yields.note(row, now)
        self.cluster.pass_over(row, now, boost)
        if since is not None:
            self.cluster.count_as_of(since, now)

    def _take_late(self, row: int) -> int | None:
        """Note that a ready job has its answer; return since when it is late, if its iteration was given up meanwhile.

        If nothing has changed since, and it yields, yields and releases from then on count as of now (`OpenIteration`).
        """
        since = self.late.pop(row, None)
        if since is None:
            return None
        has_changed = self.cluster.changed
        if has_changed:
            self.cluster.interrupt()
        return None if has_changed or self.cluster.offers(row) else since

    def release(self, job: JobId, now: int) -> None:
        row = self.row[job]
        self.releases += 1
        self.holds.end(row, now, HoldEnd.RELEASED)
        self.cluster.release(row, now)

    def requeue(self, job: int, now: int) -> None:
        """Note that a running job, which is known by its row in the workload, loses its nodes and is queued again."""
        row = self.cluster.first + job
        record = self.cluster.tables.jobs[row]
        self.runs.setdefault(job, []).append((int(record["start"]), now))
        record["start"] = UNKNOWN  # it waits, and may be cancelled before it starts again
        self.cluster.requeue(row)

    def last_start(self, job: int) -> int:
        """Return when a job, known by its row in the workload, has started last; it was queued again."""
        last = int(self.cluster.tables.jobs[self.cluster.first + job]["start"])
        return self.runs[job][-1][0] if last == UNKNOWN else last

    def allocations(self, start: Ints, end: Ints, state: Ints, now: int) -> Allocations:
        """Return all allocations until now, of jobs with these last starts, and ends, in these states."""
        nodes = self.cluster.tables.jobs["nodes"][self.cluster.first :]
        had = [(begin, over, row, AllocationEnd.REQUEUED) for row, runs in self.runs.items() for begin, over in runs]
        for row, state_of in enumerate(state.tolist()):
            if state_of in ENDS and start[row] != UNKNOWN:
                had.append((int(start[row]), now if end[row] == UNKNOWN else int(end[row]), row, ENDS[state_of]))
        log = AllocationLog()
        for begin, over, row, how in sorted(had):
            log.begin(row, int(nodes[row]), begin)
            log.end(row, over, how)
        return log.allocations(now)

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:  # noqa: ARG002
        row = self.row[job]
        return self.cluster.has_from(row, now) if self.cluster.try_start(row, now, wanted_until) else NOT_NOW

    def try_ready(self, job: JobId, now: int) -> Given:
        row, changed = self.row[job], self.cluster.changed
        if not self.cluster.try_ready(row, now):
            return NOT_NOW
        if self.late:
            self.cluster.interrupt()
            self.cluster.changed = changed
        return self.cluster.has(row)

    def give_back(self, job: JobId, now: int) -> None:  # noqa: ARG002
        """See the protocol. All answers come at this instant, so no iteration has run meanwhile."""
        self.cluster.give_back(self.row[job])

    def want_until(self, job: JobId, until: int) -> None:
        self.cluster.want_until(self.row[job], until)

    def reschedule(self, job: JobId | None = None) -> None:  # noqa: ARG002
        self.cluster.reschedule()

    def count_paired(self, job: JobId, paired: bool) -> None:
        self.cluster.count_paired(self.row[job], paired)


class MeetingDomain(BatchDomain):
    """That of a domain which meets: `core.scheduling.scheduler.Meeting`."""

    cluster: MeetingCluster

    def want(self, job: JobId, wanted: bool) -> None:
        self.cluster.want(self.row[job], wanted)

    def quote(self, effect: Quote, now: int) -> Quoted:
        return Quoted(effect.job, self.cluster.quote(self.row[effect.job], effect.not_before, now), effect.for_peer)

    def book(self, effect: Book, now: int) -> Booked:
        row, at = self.row[effect.job], effect.at
        booked = self.cluster.has_from(row, at) if self.cluster.book(row, at, now) else None
        return Booked(effect.job, at, effect.generation, booked, effect.for_peer)

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        self.cluster.move_slot(self.row[job], moves)

    def unbook(self, job: JobId, now: int) -> None:  # noqa: ARG002
        self.cluster.unbook(self.row[job])

    def claim(self, effect: Claim, now: int) -> Claimed:
        row = self.row[effect.job]
        return Claimed(effect.job, self.cluster.has(row) if self.cluster.claim(row, now) else None, effect.for_peer)

    def end_turn(self, job: JobId) -> None:
        """Do nothing: the world goes on with the iteration when the event of the turn has been handled."""
