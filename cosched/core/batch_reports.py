"""What a batch system that schedules by itself reports to its policy domain: the scheduler and the rules hear of it."""

from __future__ import annotations

from dataclasses import replace

from cosched.core.allocation import Allocation, SizeChanged
from cosched.core.coscheduling.starts.crossing import gives_way
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Book, Claim, Quote, Start, TryReady
from cosched.core.events import Booked, Claimed, NodesLost, Quoted, Requeued, Tried, TriedReady
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.external_meeting import SlotOrder
from cosched.core.scheduling.scheduler import WITH_NODES


class BatchReports:
    """The reports to one domain; each returns what follows for others."""

    def __init__(self, policy: PolicyDomain, scheduler: ExternalScheduler) -> None:
        self._policy, self._scheduler = policy, scheduler
        self._jobs = policy.coscheduler.jobs

    def _state(self, job: JobId) -> JobState | None:
        return self._jobs[job].state if job in self._jobs else None

    def offered(self, job: JobId, nodes: int, now: int, *, can_yield: bool, number: int) -> list[Change]:
        """The batch system has chosen a job and its nodes: the paper's RunJob.

        One that is ready or holds already was offered before a restart; of one that is tried, `tried` tells.
        """
        self._scheduler.note_offer(job, number)
        state = self._state(job)
        if state not in WAITING:  # it is not coscheduled, or was to start before
            return [Start(job, self._jobs[job].start_at if state is not None else None)]
        if state is JobState.QUEUED and job not in self._scheduler.trying:
            self._scheduler.offer(job, nodes, now, can_yield=can_yield)
        else:
            self.resized(job, nodes)
        return []

    def withdrawn(self, job: JobId, now: int) -> list[Change]:
        """The batch system has taken the job's nodes and queued it again."""
        state = self._state(job)
        self._scheduler.withdraw(job)
        if state not in (JobState.READY, JobState.HOLDING, JobState.RUNNING):
            return []
        self._scheduler.requeue(job)
        return self._policy.handle(Requeued(job) if state is JobState.RUNNING else NodesLost(job), now)

    def resized(self, job: JobId, nodes: int) -> None:
        """A job has so many nodes now, or will have them if it is offered to a try."""
        if job in self._scheduler:
            self._scheduler.resize(job, nodes)
        if self._state(job) in WITH_NODES:
            had = self._jobs[job].allocation or Allocation(nodes)
            self._policy.coscheduler.resized(SizeChanged(job, replace(had, nodes=nodes)))

    # Tries, which take a while

    def proposed_start(self, job: JobId) -> float | None:
        """Return when a job that is tried could start with its mate, as the peer has proposed it; None: at once."""
        tried = self._scheduler.trying.get(job)
        return None if tried is None or isinstance(tried, TryReady) else tried.start_at

    def tried(self, job: JobId, offer: int, at: float | None, now: int) -> list[Change]:
        """The batch system offers a job that is tried, by this number (0: not now). It starts at the instant `at`."""
        tried = self._scheduler.trying.pop(job, None)
        state = self._state(job)
        if tried is None:  # that try was given up
            return self._offered_late(job, offer, now) if offer and job in self._scheduler else []
        if state is None:
            return []
        starts = offer > 0 and state is JobState.QUEUED
        if starts:
            self._scheduler.note_offer(job, offer)
        if isinstance(tried, TryReady):
            return self._tried_as_member(job, offer if starts else 0, now)
        if starts and self._policy.coscheduler.incoming.tries_in_vain(job):
            return self._policy.handle(Tried(job, None), now) + self._offered_late(job, offer, now)
        if not starts:
            return self._policy.handle(Tried(job, None), now)
        started = self._policy.follow([Start(job, at)], now)
        return started + self._policy.handle(Tried(job, self._jobs[job].allocation, at), now)

    def _tried_as_member(self, job: JobId, offer: int, now: int) -> list[Change]:
        if self._jobs[job].group is None:  # it has left its group meanwhile
            return self._offered_late(job, offer, now) if offer else []
        if offer:
            self._scheduler.keep(job)
        return self._policy.handle(TriedReady(job, self._scheduler.has(job) if offer else None), now)

    def _offered_late(self, job: JobId, number: int, now: int) -> list[Change]:
        return self.offered(job, self._scheduler.job(job).nodes, now, can_yield=True, number=number)

    def gives_way(self, job: JobId, wall: int) -> bool:
        """Return whether a try that takes long is to end now, for a job that comes first; `wall`: see `crossing`."""
        tried = self._jobs.get(job)
        ledger = self._policy.coscheduler.ledger
        return tried is not None and job in self._scheduler.trying and gives_way(ledger, tried, wall)


class SlotReports:
    """What has come of orders about slots (meet.md)."""

    def __init__(self, policy: PolicyDomain, scheduler: ExternalScheduler) -> None:
        self._policy, self._scheduler = policy, scheduler

    def quoted(self, asked: Quote, at: int | None, now: int) -> list[Change]:
        """Return when the job could have a slot."""
        return self._tell(asked, Quoted(asked.job, at, asked.for_peer), now, yes=at is not None)

    def booked(self, asked: Book, booked: bool, now: int) -> list[Change]:
        """Whether the job has its slot."""
        has = self._scheduler.has_from(asked.job, asked.at) if booked and asked.job in self._scheduler else None
        return self._tell(asked, Booked(asked.job, asked.at, asked.generation, has, asked.for_peer), now, yes=booked)

    def claimed(self, asked: Claim, offer: int, now: int) -> list[Change]:
        """The job is offered on the nodes of its slot, by this number, or not yet (0)."""
        if offer:
            self._scheduler.note_offer(asked.job, offer)
        has = self._scheduler.has(asked.job) if offer and asked.job in self._scheduler else None
        return self._tell(asked, Claimed(asked.job, has, asked.for_peer), now, yes=offer > 0)

    def _tell(self, asked: SlotOrder, outcome: Quoted | Booked | Claimed, now: int, *, yes: bool) -> list[Change]:
        if not self._scheduler.meeting.awaits(asked):
            return []
        self._scheduler.meeting.answered(asked, yes)
        known = asked.job in self._policy.coscheduler.jobs
        changes = self._policy.handle(outcome, now) if known else []
        self._scheduler.meeting.settled(asked.job, now)
        return changes
