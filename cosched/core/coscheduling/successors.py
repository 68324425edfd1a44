"""The place of a member that has ended before any started: another job of its owner may take it (life.md).

Who cancels a mate that waits often corrects a mistake, and a person needs minutes. So the others wait for a successor,
as for one that is not submitted: `successor_patience` from the end of the one before, with nodes `successor_hold` only.
When that is over the member is lost. Both ends are set once, so doubled or lost words change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, READY, Allocations
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import Lost
from cosched.core.effects import ClearTimer, Effect, SetTimer, Timer
from cosched.core.job import WAITING
from cosched.core.protocol import Domain, EndedBy, MateStatus, Status
from cosched.core.settings import Scheme
from cosched.core.story import What, Why

LOST = (Status.CANCELLED, Status.FAILED, Status.UNKNOWN)


@dataclass
class Successors:
    """Members that have ended, and others in their places."""

    ledger: Ledger
    allocations: Allocations

    # One has ended

    def lose(self, job: PairedJob, peer: Domain, told: MateStatus, now: int) -> list[Effect]:
        """The member there has ended, as its domain says."""
        group = membership(job)
        known, other = group.lost.get(peer), group.jobs[peer]
        if known is not None and known.job == other:
            return []
        settings = self.ledger.settings
        may_follow = told.status is Status.CANCELLED and told.ended_by is EndedBy.OWNER and not told.runs
        since = now if told.ended_at is None else min(told.ended_at, now)
        until = since + settings.successor_patience if may_follow and not group.or_alone else now
        group.lost = {**group.lost, peer: Lost(other, until, min(until, since + settings.successor_hold))}
        if until <= now or job.alone:
            return []
        noted = self.ledger.note(job, What.MATE_ENDED, mate=other, peer=peer, until=until)
        return [*noted, SetTimer(job.id, Timer.SUCCESSOR, until)]

    def awaited(self, job: PairedJob, now: int) -> Lost | None:
        """Return the lost member in whose place another is waited for the longest; None: for none."""
        if job.group is None or not job.group.lost or job.alone:
            return None
        return max(job.group.awaited(now), key=lambda lost: lost.until, default=None)

    def wait(self, job: PairedJob, lost: Lost, now: int) -> list[Effect]:
        """A job with nodes waits for another in that place."""
        hold_until = min(each.hold_until for each in membership(job).awaited(now))
        scheme = Scheme.YIELD if hold_until <= now else None
        peer = next(peer for peer, each in membership(job).lost.items() if each is lost)
        waits = self.allocations.wait(job, now, Why.SUCCESSOR, scheme, **job.about(peer))
        return [*waits, SetTimer(job.id, Timer.SUCCESSOR, hold_until if job.state is HOLDING else lost.until)]

    # Another comes

    def may_come(self, job: PairedJob, peer: Domain) -> bool | None:
        """Return whether another job there may take the place of the member that is known; None: ask again soon.

        So it is while that one may have started by a call or a proposal, or it is not known that it has ended.
        """
        group = membership(job)
        if job.state not in WAITING or group.has_begun:
            return False
        undecided = job.call is not None or job.in_doubt or group.proposal or group.promise or group.agreement
        if undecided or (job.state is READY and peer in group.asked):
            return None
        lost = group.lost.get(peer)
        return True if lost is not None and lost.job == group.jobs.get(peer) else None

    @staticmethod
    def came(job: PairedJob) -> list[Effect]:
        """Another has come in the place of each that was lost, or the job has others now."""
        return [] if job.group is not None and job.group.lost else [ClearTimer(job.id, Timer.SUCCESSOR)]
