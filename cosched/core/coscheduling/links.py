"""Jobs and those that their owners have them start with: submission, others instead, none any more.

A job that has not started may get others. If it has nodes, it keeps them while it asks for those.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.ledger import IllegalEvent, Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import Membership
from cosched.core.coscheduling.names import Names
from cosched.core.coscheduling.starts.gathering import Gathering
from cosched.core.coscheduling.starts.promises import Promises
from cosched.core.coscheduling.starts.telling import Telling
from cosched.core.effects import ClearTimer, Effect, HasMate, Record, Reschedule, Timer, Want
from cosched.core.events import Linked, MateHeardOf, Submitted, Unlinked
from cosched.core.protocol import Found, Named
from cosched.core.story import Detail, What, Why


@dataclass
class Links:
    """What the owners of jobs say about those with which they start."""

    ledger: Ledger
    names: Names
    allocations: Allocations
    asking: Asking
    gathering: Gathering
    promises: Promises
    telling: Telling

    def submitted(self, event: Submitted, now: int) -> list[Effect]:
        """A job is queued; ValueError if its mate, or its place in its group, is another job's."""
        named = event.named
        job = PairedJob(event.job, event.owner, Membership.named(self.ledger.domain, named), adoptable=event.adoptable)
        before = self.names.add(job, named)
        self.ledger.changed[job.id] = None
        noted: list[Effect] = [Record(job.id, What.SUBMITTED, None, _told(named))] if self.ledger.story else []
        job.wanted = self.names.take_asked_early(job)
        wanted: list[Effect] = [Want(job.id)] if job.wanted else []
        told = [] if before is None else self._in_place_of(before, now)
        return noted + wanted + self.allocations.patience(job, now) + told

    def _in_place_of(self, before: PairedJob, now: int) -> list[Effect]:
        """Those that waited for a job that has ended are told that another is there. One that had started is past."""
        group = membership(before)
        return [] if before.runs or group.has_begun else self.telling.tell_news(before, group.jobs, now)

    def linked(self, job: PairedJob, event: Linked, now: int) -> list[Effect]:
        """The job starts with others; ValueError if its mate, or its place in its group, is another job's."""
        if job.state is READY and job.call is not None:
            raise IllegalEvent(f"Linked, but the mate of job {job.id} may just have started")
        named, before = event.named, _named(job)
        self.names.check_free(job.id, named, job.owner)
        news = [] if _is_same(job.named, named) else self._tell_all(job, now)
        parted = self._part(job, now)
        self.names.link(job, named)
        told = _told(named)
        if named.is_pair and _named(job) == before:
            told["or_alone"] = named.or_alone
        elif before is not None:
            told["was"] = before
        noted = self.ledger.note(job, What.LINKED, **told)
        patience, asks = self.allocations.patience(job, now), self._asks_for_them(job, now)
        return [*parted, *noted, HasMate(job.id), *patience, *asks, *news]

    def _tell_all(self, job: PairedJob, now: int) -> list[Effect]:
        """Tell those with which the job was to start that it has changed."""
        return [] if job.group is None else self.telling.tell_news(job, job.group.jobs, now)

    def _part(self, job: PairedJob, now: int) -> list[Effect]:
        """Detach the job from its mates."""
        job.wanted, job.in_doubt, job.alone, job.problem, job.call = False, False, False, "", None
        if job.group is None:
            return []
        left = [*self.gathering.stop_asking(job, now), *self.promises.leave(job)]
        wanted: list[Effect] = [Want(job.id, False)] if job.is_pair else []
        left += [*wanted, *self.gathering.agreeing.slots.drop(job, Why.MATE_CHANGED)]
        if self.ledger.given_instant(job) is not None:
            left.append(ClearTimer(job.id, Timer.PATIENCE))
        return left

    def _asks_for_them(self, job: PairedJob, now: int) -> list[Effect]:
        if job.state is QUEUED:
            return [Reschedule(job.id)]
        return self.asking.ask_again(job, now) if job.state is HOLDING else self.asking.ask(job, now)

    def unlinked(self, job: PairedJob, _: Unlinked, now: int) -> list[Effect]:
        """The job starts with nobody any more: with nodes it starts."""
        if job.group is None:
            raise IllegalEvent(f"Unlinked, but job {job.id} has no mate")
        told: Detail = {"mate": job.mate, "peer": job.peer} if job.is_pair else {"group": job.group.name}
        news = self._tell_all(job, now)
        noted = [*self._part(job, now), *self.ledger.note(job, What.UNLINKED, **told)]
        self.names.unlink(job)
        noted.append(HasMate(job.id))
        if job.state is not QUEUED:  # it has nodes, and nobody to wait for
            return noted + self.allocations.start(job, now, Why.UNLINKED) + news
        return [*noted, ClearTimer(job.id, Timer.PATIENCE), Reschedule(job.id), *news]

    def heard(self, job: PairedJob, event: MateHeardOf, now: int) -> list[Effect]:  # noqa: ARG002
        """Which job another one is, told when this one was submitted, or in answer to somebody else."""
        group, other, problem = job.group, event.answer.job, event.answer.problem
        peer = event.peer or job.peer
        if group is None or peer not in group.others:
            return []
        if other is not None and peer not in group.jobs:
            self.names.know(job, peer, other)
            return [] if group.is_pair else self.ledger.note(job, What.LINKED, mate=other, peer=peer)
        if event.answer.found is not Found.NO_PAIR or not group.is_pair:
            return []
        return self.gathering.wrong_mate(job, problem)


def _is_same(before: Named, named: Named) -> bool:
    """Return whether the job starts with those with which it was to start; their ids may have been learnt."""
    return (before.others, before.name) == (named.others, named.name) and named.ids in ((), before.ids)


def _told(named: Named) -> Detail:
    """Return how a job names those with which it starts, for its story."""
    if not named.is_pair:
        return {"group": named.name, "others": list(named.others)}
    return {"pair": named.name or None, "mate": named.mate, "peer": named.others[0] or None}


def _named(job: PairedJob) -> str | None:
    """Return how the job named those with which it starts, for people; None: there were none."""
    if not job.is_pair:
        return None if job.group is None else f"group {job.group.name}"
    return f"{job.pair}@{job.peer}" if job.pair is not None else f"{job.peer}:{job.mate}"
