"""The slots of the jobs of a fluid domain (fluid.md): a part that its scheduler holds.

Nobody starts before their turn here, so jobs are not wanted. A booked job may start before its slot, at its turn.
"""

from __future__ import annotations

from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import Booked, Claimed, Quoted
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.fluid.gathering import Gathering
from cosched_papers.fluid.kernels import booking, forecast, harvest, promises
from cosched_papers.fluid.rows import Rows
from cosched_papers.fluid.sizes import Sizes

WAITING = (JobState.QUEUED, JobState.READY)


class FluidSlots:
    """See Meeting."""

    def __init__(self, rows: Rows, gathering: Gathering, sizes: Sizes, iteration: OpenIteration) -> None:
        """Its scheduler holds all of these."""
        self._rows, self._gathering, self._sizes, self._iteration = rows, gathering, sizes, iteration

    def submit(self, job: ClusterJob) -> None:
        """Note that a job may have a slot from before a restart."""
        if "slot" in job.kept:
            booking.book(self._rows.state, self._rows[job.id], job.kept["slot"])
            self.move_slot(job.id, SlotMoves(job.kept.get("slot_moves", SlotMoves.BY_ITSELF)))

    def leave(self, job: JobId) -> None:
        """Note that the job has no slot any more."""
        booking.unbook(self._rows.state, self._rows[job])

    def want(self, job: JobId, wanted: bool) -> None:
        """See Meeting: nobody starts before their turn."""

    def quote(self, effect: Quote, now: int) -> Quoted:
        """See Meeting. `now` is firm; a later instant can be booked, if nothing more is submitted before."""
        at = self._first_instant(effect.job, max(effect.not_before, now), now) if self._waits(effect.job) else NONE
        return Quoted(effect.job, None if at == NONE else at, effect.for_peer)

    def _waits(self, job: JobId) -> bool:
        return job in self._rows and JobState(int(self._rows.jobs["state"][self._rows[job]])) in WAITING

    def _first_instant(self, job: JobId, not_before: int, now: int) -> int:
        row = self._rows[job]
        at = int(forecast.first_start(self._rows.copied(), row, not_before, now))
        if at in (NONE, now):
            return at
        return int(booking.first_bookable(self._rows.state, row, at, now))

    def book(self, effect: Book, now: int) -> Booked:
        at = max(effect.at, now)
        booked = self._waits(effect.job) and bool(booking.can_book(self._rows.state, self._rows[effect.job], at, now))
        if booked:
            booking.book(self._rows.state, self._rows[effect.job], at)
            self._iteration.change_beside(effect.job)
        allocation = self._rows.at_least(self._rows[effect.job], at) if booked else None
        return Booked(effect.job, effect.at, effect.generation, allocation, effect.for_peer)

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        """See Meeting: a slot becomes an earlier one at the turn of its job, which it has unless NEVER."""
        if job in self._rows:
            self._rows.jobs["moves"][self._rows[job]] = moves

    def unbook(self, job: JobId, now: int) -> None:  # noqa: ARG002
        if job in self._rows:
            booking.unbook(self._rows.state, self._rows[job])
            self._iteration.change_beside(job)

    def claim(self, effect: Claim, now: int) -> Claimed:
        """See Meeting: whatever runs gives what is missing when the job starts.

        That may be too little where another booked job has started after its slot.
        """
        claimed, job = effect.job in self._rows and self._is_due(effect.job, now), effect.job
        if claimed and job not in self._gathering:
            self._iteration.interrupt()
            if self._gathering.must_gather(job):
                self._gather(job, now)
            else:
                promises.make_ready(self._rows.state, self._rows[job])
        if claimed and job in self._gathering:
            claimed = job == self._gathering.served()
            if claimed:
                self._iteration.interrupt()
                self._gathering.end(job, now)
        return Claimed(job, self._rows.at_least(self._rows[job]) if claimed else None, effect.for_peer)

    def _is_due(self, job: JobId, now: int) -> bool:
        """Return whether the slot of a queued job has come, and it could be had."""
        record = self._rows.jobs[self._rows[job]]
        if not 0 < int(record["slot"]) <= now + 1:
            return False
        could_be_had = record["state"] == JobState.QUEUED and int(record["least"]) <= self._could_be_free()
        return could_be_had or job in self._gathering

    def _gather(self, job: JobId, now: int) -> None:
        """Let all that run leave what is missing, whatever the policy says."""
        state, row = self._rows.state, self._rows[job]
        if self._rows.machine["avail"] < self._rows.jobs["least"][row]:
            harvest.plan_for_promised(state, row, now)
        self._gathering.gather(job, now)
        self._sizes.note()
        self._iteration.change_beside(job)

    def _could_be_free(self) -> int:
        """Processors that jobs would have beside them that run or are ready, if all these had their least."""
        jobs = self._rows.jobs
        more = (jobs["procs"] - jobs["least"])[jobs["state"] == JobState.RUNNING].sum()
        return int(self._rows.machine["avail"] + more - self._rows.machine["claimed"])

    def end_turn(self, job: JobId) -> None:
        """See Meeting: no iteration waits at such turns."""
