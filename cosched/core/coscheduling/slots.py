"""The slots of jobs: instants at which they start with their mates, by agreement (meet.md, Slots).

A slot has a generation, which grows when it is set, moved or dropped. The domain that has proposed a slot starts both
jobs at it. The other one waits for that: first for the word that the slot is kept, then, at the slot, for the start. If
neither comes in time it drops the slot, so nothing stays booked for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.effects import Call, ClearTimer, Effect, SetTimer, Timer, Unbook
from cosched.core.protocol import JobId, SettleStart
from cosched.core.story import What, Why


@dataclass
class Slots:
    """Which jobs have slots."""

    ledger: Ledger

    @property
    def patience(self) -> int:
        """For how many seconds a slot waits for the other domain, and for its nodes."""
        return self.ledger.settings.peer_patience

    def give(self, job: PairedJob, at: int, generation: int, now: int, *, proposes: bool) -> list[Effect]:
        """The job has this slot from now on, instead of any that it had; `proposes`: by our own proposal."""
        before = self._timer(job) if job.slot is not None else None
        job.slot, job.slot_generation = at, generation
        job.proposes, job.confirmed = proposes, False
        effects = self.ledger.note(
            job, What.HAS_SLOT, slot=at, generation=generation, mate=job.mate, peer=job.peer or None
        )
        if before is not None and before is not self._timer(job):
            effects.append(ClearTimer(job.id, before))
        return [*effects, self.await_it(job, now)]

    def await_it(self, job: PairedJob, now: int) -> SetTimer:
        """Return the timer of a job that has a slot."""
        assert job.slot is not None
        if job.proposes:
            return SetTimer(job.id, Timer.SLOT, max(job.slot, now + 1))
        return SetTimer(job.id, Timer.LAPSE, (job.slot if job.confirmed else now) + self.patience)

    def is_current(self, job: PairedJob, generation: int) -> bool:
        """Whether the job has the slot of this generation."""
        return job.slot is not None and job.slot_generation == generation

    def end(self, job: PairedJob) -> list[Effect]:
        """The job has no slot any more; its domain's scheduler knows."""
        if job.slot is None:
            return []
        timer = self._timer(job)
        job.slot, job.proposes, job.confirmed = None, False, False
        job.slot_generation += 1
        return [ClearTimer(job.id, timer)]

    def drop(self, job: PairedJob, why: Why, *, tell: bool = True) -> list[Effect]:
        """Take the slot from the job, if it has one, and `tell` its mate's domain so."""
        if job.slot is None:
            return []
        generation = job.slot_generation
        noted = self.ledger.note(job, What.LOST_SLOT, why, slot=job.slot, generation=generation)
        told = [self.tell_dropped(job, generation)] if tell else []
        return [*noted, *self.end(job), Unbook(job.id), *told]

    def tell_dropped(self, job: PairedJob, generation: int) -> Call:
        """Tell the mate's domain to drop a slot. If that gets lost, the slot lapses there."""
        return Call(job.peer, job.id, SettleStart(self.ledger.request_id(job), mate_of(job), job.id, generation, False))

    @staticmethod
    def _timer(job: PairedJob) -> Timer:
        return Timer.SLOT if job.proposes else Timer.LAPSE


def mate_of(job: PairedJob) -> JobId:
    """The mate of a job that has asked about it."""
    return cast(JobId, job.mate)
