"""What happens when the slot of a job comes, whose nodes this domain claims (`PairedJob.claims`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.slots import Slots
from cosched.core.effects import Claim, Effect, Reschedule, Yield
from cosched.core.events import Claimed, SlotDue
from cosched.core.story import Why


@dataclass
class AtSlot:
    """`start_all` lets a ready job, which has the nodes of its slot, start with those that it has agreed with."""

    ledger: Ledger
    allocations: Allocations
    slots: Slots
    start_all: Callable[[PairedJob, int], list[Effect]]

    def due(self, job: PairedJob, _: SlotDue, now: int) -> list[Effect]:
        """The slot has come. A job that is asking, or is booked, has that answered first."""
        if not job.claims:
            return []
        if job.state is HOLDING:
            return self.slots.drop(job, Why.SLOT_NOT_KEPT)
        return [*self.slots.abandon(job), Claim(job.id)] if job.state is QUEUED else self.wait_for_nodes(job, now)

    def claimed(self, job: PairedJob, event: Claimed, now: int) -> list[Effect]:
        """Whether the job has the nodes of its slot."""
        if job.state is not QUEUED:  # its RunJob has come between
            return self.wait_for_nodes(job, now) if job.claims else []
        if event.allocation is None:
            return self.wait_for_nodes(job, now)
        if not job.claims:  # the slot is gone, or another domain has moved it
            return [Yield(job.id, self.allocations.boost(job))]
        job.state, job.allocation = READY, event.allocation
        job.disclosed, job.cannot_yield, job.hold_limit = False, False, 0
        return self.start_all(job, now)

    def wait_for_nodes(self, job: PairedJob, now: int) -> list[Effect]:
        """Nodes are not free, here or there: perhaps a job is just ending that has come to its limit."""
        if job.slot is not None and now < job.slot + self.ledger.settings.long_pause:
            return self.slots.claim_from(job, now + self.ledger.settings.retry_interval)
        return [*self.slots.drop(job, Why.SLOT_NOT_KEPT), Reschedule(job.id)]
