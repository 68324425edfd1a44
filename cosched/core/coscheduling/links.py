"""Jobs and the mates that their owners name: submission, another mate instead, none any more.

A job that has not started may get another mate. If it has nodes, it keeps them while it asks for the mate.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.bookings import Bookings
from cosched.core.coscheduling.groups.members import Members
from cosched.core.coscheduling.ledger import IllegalEvent, Ledger, PairedJob
from cosched.core.coscheduling.mates import Mates
from cosched.core.coscheduling.slots import Slots
from cosched.core.effects import ClearTimer, Effect, HasMate, Reschedule, Timer, Want
from cosched.core.events import Linked, Submitted, Unlinked
from cosched.core.protocol import GroupName, StartJob, TryStartMate
from cosched.core.story import Detail, What, Why


@dataclass
class Links:
    """What the owners of jobs say about their mates."""

    ledger: Ledger
    mates: Mates
    members: Members
    allocations: Allocations
    asking: Asking
    slots: Slots
    bookings: Bookings

    def submitted(self, event: Submitted, now: int) -> list[Effect]:
        """A job is queued; ValueError if its mate is another job's."""
        named = event.named
        if isinstance(named, GroupName):
            return self._submitted_to_group(event, named, now)
        job = PairedJob(event.job, named.peer, named.pair, named.mate, event.owner, or_alone=named.or_alone)
        self.mates.add(job)
        self.ledger.changed[job.id] = None
        noted = self.ledger.note(job, What.SUBMITTED, pair=named.pair, mate=named.mate, peer=named.peer or None)
        job.wanted = self.mates.take_asked_early(job)
        wanted: list[Effect] = [Want(job.id)] if job.wanted else []
        return noted + wanted + self.allocations.patience(job, now)

    def _submitted_to_group(self, event: Submitted, named: GroupName, now: int) -> list[Effect]:
        self.members.check(named, event.owner)
        job = PairedJob(event.job, "", None, None, event.owner)
        self.mates.add(job)
        self.members.join(job, named)
        self.ledger.changed[job.id] = None
        noted = self.ledger.note(job, What.SUBMITTED, group=named.name, others=list(named.others))
        return noted + self.allocations.patience(job, now)

    def linked(self, job: PairedJob, event: Linked, now: int) -> list[Effect]:
        """The job names another mate; ValueError if that is another job's."""
        if job.state is READY and type(job.call) in (TryStartMate, StartJob):
            raise IllegalEvent(f"Linked, but the mate of job {job.id} may just have started")
        named, before = event.named, named_mate(job) if job.peer else None
        if isinstance(named, GroupName):
            return self._linked_to_group(job, named, before, now)
        self.mates.check_free(job, named)
        parted = self._part(job)
        self.mates.link(job, named)
        job.alone, job.problem = False, ""
        told: Detail = {"pair": named.pair, "mate": named.mate, "peer": named.peer}
        if named_mate(job) == before:
            told["or_alone"] = named.or_alone
        elif before is not None:
            told["was"] = before
        noted = self.ledger.note(job, What.LINKED, **told)
        return [*parted, *noted, HasMate(job.id), *self.allocations.patience(job, now), *self._asks_for_it(job, now)]

    def _linked_to_group(self, job: PairedJob, named: GroupName, before: str | None, now: int) -> list[Effect]:
        """The job joins a group, while it has no nodes."""
        if job.state is not QUEUED:
            raise IllegalEvent(f"Linked, but job {job.id} has nodes: it cannot join a group")
        self.members.check(named, job.owner)
        parted = self.bookings.leave(job)
        if job.peer:
            parted += self._part(job)
            self.mates.unlink(job)
        self.members.join(job, named)
        job.alone, job.problem = False, ""
        self.ledger.changed[job.id] = None
        told: Detail = {"group": named.name, "others": list(named.others)}
        if before is not None:
            told["was"] = before
        noted = self.ledger.note(job, What.LINKED, **told)
        return [*parted, *noted, HasMate(job.id), *self.allocations.patience(job, now), Reschedule(job.id)]

    def _part(self, job: PairedJob) -> list[Effect]:
        """The mate that the job had waits for it no longer."""
        job.wanted, job.in_doubt = False, False
        if job.state is not READY and type(job.call) is StartJob:
            job.call = None
        return [Want(job.id, False), *self.slots.abandon(job), *self.slots.drop(job, Why.MATE_CHANGED)]

    def _asks_for_it(self, job: PairedJob, now: int) -> list[Effect]:
        if job.state is QUEUED:
            return [Reschedule(job.id)]
        return self.asking.ask_again(job, now) if job.state is HOLDING else self.asking.ask_for_mate(job, now)

    def unlinked(self, job: PairedJob, _: Unlinked, now: int) -> list[Effect]:
        """The job has no mate any more: with nodes it starts."""
        if not job.peer:
            raise IllegalEvent(f"Unlinked, but job {job.id} has no mate")
        noted = [*self._part(job), *self.ledger.note(job, What.UNLINKED, mate=job.mate, peer=job.peer)]
        self.mates.unlink(job)
        job.alone, job.problem = False, ""
        noted.append(HasMate(job.id))
        if job.state is not QUEUED:  # it has nodes, and nobody to wait for
            return noted + self.allocations.start(job, now, Why.UNLINKED)
        return [*noted, ClearTimer(job.id, Timer.PATIENCE), Reschedule(job.id)]


def named_mate(job: PairedJob) -> str:
    """How a job names its mate, for people."""
    return f"{job.pair}@{job.peer}" if job.pair is not None else f"{job.peer}:{job.mate}"
