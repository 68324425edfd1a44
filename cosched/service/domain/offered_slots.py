"""Slots and early starts of a resource manager's jobs (meet.md): what it has told becomes events of the core."""

from __future__ import annotations

import json

from cosched.core.batch_reports import SlotReports
from cosched.core.effects import Book, Claim, Quote
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.external import ExternalScheduler
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.turns import in_turn
from cosched_adapters.batch_system import SlotOnRecord

GUARDS = "guards"  # what the store calls those that are kept for jobs of the manager's queue


class OfferedSlots:
    """Those of one domain. Instants are by its clock, but guards by the manager's: in seconds since 1970."""

    def __init__(self, domain: LiveDomain, scheduler: ExternalScheduler) -> None:
        self.scheduler, self.meeting = scheduler, scheduler.meeting
        self._reports = SlotReports(domain.policy, scheduler)
        self.turns = domain.turns
        self._core = domain.core
        self._decisions = domain.decisions
        self._journal = domain.journal
        self.guards: dict[JobId, int] = json.loads(domain.store.meta(GUARDS) or "{}")
        self._kept = dict(self.guards)

    # What the manager must know of other jobs

    def paired(self) -> list[JobId]:
        """Return the jobs that wait for their mates."""
        return [job.id for job in self._core.jobs.values() if job.state is JobState.QUEUED and job.peers]

    def ready(self) -> list[JobId]:
        """Return those that have been ready."""
        return [job for job in self.paired() if self._core.jobs[job].ready_at is not None]

    def on_record(self) -> dict[JobId, SlotOnRecord]:
        """Return the slots of all jobs, as the manager is to have them."""
        to_wall = self._journal.clock.to_wall
        jobs = self._core.jobs.values()
        return {job.id: SlotOnRecord(to_wall(job.slot), job.slot_generation) for job in jobs if job.slot is not None}

    def has_slot(self, job: JobId) -> bool:
        """Return whether the job has a slot."""
        return self.meeting.slot(job) is not None

    def may_start_before_turn(self, job: JobId) -> bool:
        """Return whether the manager may start a wanted job before its turn."""
        return job in self.scheduler and self.meeting.may_start_before_turn(job, self._journal.now)

    # What has come of orders, and what happens

    @in_turn
    def pushed(self, job: JobId, seconds: int | None) -> None:
        """Note that a wanted job is offered: what is known of that, before `OfferedJobs.tried`."""
        self.meeting.note_push(job, seconds)
        if self.guards != self._kept:
            self._kept = dict(self.guards)
            self._journal.changes.values[GUARDS] = json.dumps(self.guards)

    @in_turn
    def quoted(self, asked: Quote, at: int | None) -> None:
        """Note when the job could have a slot."""
        self._decisions.do(self._reports.quoted(asked, at, self._journal.now))

    @in_turn
    def booked(self, asked: Book, booked: bool) -> None:
        """Note whether the job has its slot."""
        self._decisions.do(self._reports.booked(asked, booked, self._journal.now))

    @in_turn
    def claimed(self, asked: Claim, offer: int) -> None:
        """Note that the job is offered on the nodes of its slot, by this number, or not yet (0)."""
        self._decisions.do(self._reports.claimed(asked, offer, self._journal.now))

    @in_turn
    def freed(self) -> None:
        """Note that nodes are free again."""
        self.meeting.look_for_earlier(self._journal.now)
