"""The slots of jobs: instants at which they start with others, by agreement (meet.md, Slots).

All have the same name for it, that of the proposal by which they have booked it. The domain that has proposed a slot
keeps it, and proposes the start at it. The others wait: first for the word that the slot is kept, then, at the slot,
for the start. Until that word was heard, and answered, the slot is not confirmed: it does not move, and lapses soon. A
slot that is not started in time is dropped, too. So nothing stays booked for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import NOTHING
from cosched.core.effects import Call, ClearTimer, Effect, EndTurn, SetTimer, Timer, Unbook
from cosched.core.events import Booked
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import SettleGroupStart
from cosched.core.story import What, Why

MOST_AHEAD = 366 * 86_400  # seconds from now to a slot; peers may name any instant


@dataclass
class Slots:
    """Which jobs have slots."""

    ledger: Ledger

    def give(self, job: PairedJob, at: int, generation: int, now: int, *, proposes: bool) -> list[Effect]:
        """The job has this slot from now on, instead of any that it had; `proposes`: by our own proposal."""
        claimed = job.claims
        job.slot, job.slot_generation = at, generation
        job.proposes, job.confirmed = proposes, False
        cleared = [ClearTimer(job.id, Timer.SLOT)] if claimed and not job.claims else []
        noted = self.ledger.note(
            job, What.HAS_SLOT, slot=at, generation=generation, mate=job.mate, peer=job.peer or None
        )
        return [*noted, *cleared, *self.await_it(job, now)]

    def await_it(self, job: PairedJob, now: int) -> list[Effect]:
        """Set the timers of a job that has a slot."""
        assert job.slot is not None
        timers = self.claim_from(job, now + 1)
        if (not job.proposes or not job.confirmed) and not membership(job).has_begun:
            since = job.slot if job.confirmed else min(job.slot, now)  # after a restart it may be past
            timers.append(SetTimer(job.id, Timer.LAPSE, since + self.ledger.settings.long_pause))
        return timers

    @staticmethod
    def claim_from(job: PairedJob, earliest: int) -> list[Effect]:
        """Claim the nodes of the job's slot when that has come, if this domain is to do so."""
        if job.slot is None or not job.claims:
            return []
        return [SetTimer(job.id, Timer.SLOT, max(job.slot, earliest))]

    def fits(self, job: PairedJob, now: int) -> None:
        """Nodes are free for the job, which has a slot: it now waits only for its mate."""
        if job.fits_since is None:
            job.fits_since = now

    def fits_not(self, job: PairedJob) -> None:
        """Others have the nodes now."""
        if job.fits_since is not None:
            self.ledger.count_slot(job, ended=False)

    def confirm(self, job: PairedJob) -> list[Effect]:
        """All others know that the slot which we have proposed is kept."""
        job.confirmed = True
        return [ClearTimer(job.id, Timer.LAPSE)]

    def end(self, job: PairedJob) -> list[Effect]:
        """The job has its slot no longer; its domain's scheduler knows."""
        set_now = [Timer.SLOT] if job.claims else []
        if not job.proposes or not job.confirmed:
            set_now.append(Timer.LAPSE)
        self.ledger.count_slot(job, ended=True)
        moved = self.abandon(job) if job.state is JobState.QUEUED else []  # what it agrees on is a move of this slot
        job.slot, job.proposes, job.confirmed = None, False, False
        job.slot_generation += 1
        group = membership(job)
        group.slot, group.instant = "", None
        group.keeping = NOTHING
        self.ledger.changed[job.id] = None
        return [*moved, *(ClearTimer(job.id, timer) for timer in set_now)]

    def drop(self, job: PairedJob, why: Why, *, tell: bool = True) -> list[Effect]:
        """Take the slot from the job, if it has one, and `tell` the domains of all others so."""
        if job.slot is None:
            return []
        noted = self.ledger.note(job, What.LOST_SLOT, why, slot=job.slot, generation=job.slot_generation)
        told = [] if not tell or membership(job).has_begun else self.tell_dropped(job, membership(job).slot)
        return [*noted, *self.end(job), Unbook(job.id), *told]

    @staticmethod
    def tell_dropped(job: PairedJob, slot: str) -> list[Effect]:
        """Tell the domains of all others to drop a slot. Where that gets lost, the slot lapses."""
        others = membership(job).jobs.items()
        return [Call(peer, job.id, SettleGroupStart(slot, other, job.id, start=False)) for peer, other in others]

    def undo(self, job: PairedJob, event: Booked) -> list[Effect]:
        """Give back an instant that was booked when nobody waited for it any more. It has replaced the slot before."""
        if event.allocation is None or job.state not in WAITING:
            return []
        return [*self.drop(job, Why.SLOT_NOT_KEPT), Unbook(job.id)]

    def abandon(self, job: PairedJob) -> list[Effect]:
        """End the negotiation of a queued job, if there is one. What still comes of it is too late."""
        if job.group is None or job.group.agreement is None:
            return []
        job.group.agreement = None
        return [EndTurn(job.id)] if job.state is JobState.QUEUED else []
