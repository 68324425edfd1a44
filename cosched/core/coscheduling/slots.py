"""The slots of jobs: instants at which they start with their mates, by agreement (meet.md, Slots).

A slot has a generation, which grows when it is set, moved or dropped. The domain that has proposed a slot keeps it, and
starts both jobs at it. The other one waits: first for the word that the slot is kept, then, at the slot, for the start.
Until that word was heard, and answered, the slot is not confirmed: it does not move, and lapses soon. A slot that is
not started in time is dropped, too. So nothing stays booked for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.effects import Call, ClearTimer, Effect, EndTurn, SetTimer, Timer, Unbook
from cosched.core.events import Booked
from cosched.core.job import JobState
from cosched.core.protocol import JobId, ProposeStart, Request, SettleGroupStart, SettleStart
from cosched.core.story import What, Why

MOST_AHEAD = 366 * 86_400  # seconds from now to a slot; peers may name any instant
WAITING = (JobState.QUEUED, JobState.READY, JobState.HOLDING)


@dataclass
class Slots:
    """Which jobs have slots.

    `plans`: jobs whose instant our scheduler looks for, or books, for our own proposal; each with its last question.
    """

    ledger: Ledger
    plans: dict[JobId, Request | None] = field(default_factory=dict)

    @property
    def patience(self) -> int:
        """For how many seconds a slot waits for the other domain, and for its nodes."""
        return max(self.ledger.settings.peer_patience, self.ledger.settings.retry_interval)

    def give(self, job: PairedJob, at: int, generation: int, now: int, *, proposes: bool) -> list[Effect]:
        """The job has this slot from now on, instead of any that it had; `proposes`: by our own proposal."""
        claimed = job.claims
        job.slot, job.slot_generation = at, generation
        job.proposes, job.confirmed = proposes, False
        cleared = [ClearTimer(job.id, Timer.SLOT)] if claimed and not job.claims else []
        self._told(job)
        noted = self.ledger.note(
            job, What.HAS_SLOT, slot=at, generation=generation, mate=job.mate, peer=job.peer or None
        )
        return [*noted, *cleared, *self.await_it(job, now)]

    def await_it(self, job: PairedJob, now: int) -> list[Effect]:
        """Set the timers of a job that has a slot."""
        assert job.slot is not None
        timers: list[Effect] = []
        if job.claims:
            timers.append(SetTimer(job.id, Timer.SLOT, max(job.slot, now + 1)))
        if (not job.proposes or not job.confirmed) and not (job.group is not None and job.group.has_begun):
            since = job.slot if job.confirmed else min(job.slot, now)  # after a restart it may be past
            timers.append(SetTimer(job.id, Timer.LAPSE, since + self.patience))
        return timers

    def fits(self, job: PairedJob, now: int) -> None:
        """Nodes are free for the job. If it has a slot, it now waits only for its mate."""
        if job.slot is not None and job.fits_since is None:
            job.fits_since = now

    def fits_not(self, job: PairedJob) -> None:
        """Others have the nodes now."""
        if job.fits_since is not None:
            self.ledger.count_slot(job, ended=False)

    def confirm(self, job: PairedJob) -> list[Effect]:
        """The mate's domain knows that the slot which we have proposed is kept."""
        job.confirmed = True
        self._told(job)
        return [ClearTimer(job.id, Timer.LAPSE)]

    @staticmethod
    def _told(job: PairedJob) -> None:
        """The job asks no longer whether its slot is kept."""
        if type(job.call) is SettleStart:
            job.call = None

    def is_current(self, job: PairedJob, generation: int) -> bool:
        """Whether the job has the slot of this generation."""
        return job.slot is not None and job.slot_generation == generation

    def end(self, job: PairedJob) -> list[Effect]:
        """The job has no slot any more; its domain's scheduler knows."""
        if job.slot is None:
            return []
        set_now = [Timer.SLOT] if job.claims else []
        if not job.proposes or not job.confirmed:
            set_now.append(Timer.LAPSE)
        self.ledger.count_slot(job, ended=True)
        moved = self.abandon(job) if job.state is JobState.QUEUED else []  # what it agrees on is a move of this slot
        job.slot, job.proposes, job.confirmed = None, False, False
        job.slot_generation += 1
        if job.group is not None:
            job.group.slot, job.group.instant = "", None
            job.group.keeping.clear()
        self._told(job)
        self.ledger.changed[job.id] = None
        return [*moved, *(ClearTimer(job.id, timer) for timer in set_now)]

    def drop(self, job: PairedJob, why: Why, *, tell: bool = True) -> list[Effect]:
        """Take the slot from the job, if it has one, and `tell` the domain of its mate, or of all members, so."""
        if job.slot is None:
            return []
        generation = job.slot_generation
        noted = self.ledger.note(job, What.LOST_SLOT, why, slot=job.slot, generation=generation)
        told: Sequence[Effect] = []
        if tell and not (job.group is not None and job.group.has_begun):
            told = [self.tell_dropped(job, generation)] if job.group is None else self.tell_members(job, job.group.slot)
        return [*noted, *self.end(job), Unbook(job.id), *told]

    @staticmethod
    def tell_members(job: PairedJob, slot: str) -> list[Effect]:
        """Tell the domains of all members to drop a slot of the group. Where that gets lost, the slot lapses."""
        members = {} if job.group is None else job.group.jobs
        return [
            Call(peer, job.id, SettleGroupStart(slot, member, job.id, start=False)) for peer, member in members.items()
        ]

    def tell_dropped(self, job: PairedJob, generation: int) -> Call:
        """Tell the mate's domain to drop a slot. If that gets lost, the slot lapses there."""
        return Call(job.peer, job.id, SettleStart(self.ledger.request_id(job), mate_of(job), job.id, generation, False))

    def undo(self, job: PairedJob, event: Booked) -> list[Effect]:
        """Give back an instant that was booked when nobody waited for it any more. It has replaced the slot before."""
        if event.allocation is None or job.state not in WAITING:
            return []
        return [*self.drop(job, Why.SLOT_NOT_KEPT), Unbook(job.id)]

    def is_kept_by(self, job: PairedJob, request: SettleStart) -> bool:
        """Whether the request is to keep the job's present slot, which we have proposed, and that is not confirmed."""
        return request.keep and job.proposes and not job.confirmed and self.is_current(job, request.slot_generation)

    # Negotiations

    def is_planning(self, job: PairedJob) -> bool:
        """Whether our scheduler works for the job's own proposal: its last question is answered already."""
        return job.id in self.plans and self.plans[job.id] is job.call

    def abandon(self, job: PairedJob) -> list[Effect]:
        """End the negotiation of a queued job, if there is one. What still comes of it is too late."""
        self.plans.pop(job.id, None)
        negotiates = type(job.call) is ProposeStart
        if job.group is not None:
            negotiates, job.group.agreement = job.group.agreement is not None, None
        if job.state is not JobState.QUEUED or not negotiates:
            return []
        job.call = None
        return [EndTurn(job.id)]


def mate_of(job: PairedJob) -> JobId:
    """The mate of a job that has asked about it."""
    return cast(JobId, job.mate)
