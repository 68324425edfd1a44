"""What members of groups are told of a proposal: that the group starts, or that it is dropped (coscheduling.md).

It is told again until the member's domain has acknowledged it, whatever becomes of the job: it may have ended, or have
left its group. What a member is told later takes the place of that, and so does a later proposal.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.ledger import Ledger, PairedJob, Untold
from cosched.core.coscheduling.peers import MAX_ABSENCE
from cosched.core.effects import Call, Effect, SetTimer, Timer
from cosched.core.events import Answered, CallFailed, JobEvent, TellDue
from cosched.core.protocol import Domain, GetProposal, Settled, SettleGroupStart
from cosched.core.story import What


@dataclass
class Telling:
    """What our jobs have told other members, until these acknowledge it: `PairedJob.untold`."""

    ledger: Ledger

    def tell(self, job: PairedJob, peer: Domain, request: SettleGroupStart, now: int) -> list[Effect]:
        """Tell the member there, until it says that it has heard it."""
        job.untold[peer] = Untold(request, now)
        return [Call(peer, job.id, request)]

    def handle(self, job: PairedJob, event: JobEvent, now: int) -> list[Effect]:
        """An acknowledgement, a failed call, or the time to tell it again. Other events change nothing here."""
        if isinstance(event, TellDue):
            return self._tell_again(job, now)
        if not isinstance(event, Answered | CallFailed):
            return []
        told = job.untold.get(event.peer)
        if told is None or told.request != event.request:
            return []
        if isinstance(event, CallFailed):
            return [SetTimer(job.id, Timer.TELL, now + self._pause(job, now))]
        del job.untold[event.peer]
        apart = told.request.start and isinstance(event.answer, Settled) and not event.answer.current
        return self.ledger.note(job, What.MEMBER_APART, peer=event.peer) if apart else []

    def _pause(self, job: PairedJob, now: int) -> int:
        """The seconds until it is told again: fewer at first."""
        settings = self.ledger.settings
        fresh = any(now < told.since + settings.peer_patience for told in job.untold.values())
        return settings.retry_interval if fresh else settings.long_pause

    def _tell_again(self, job: PairedJob, now: int) -> list[Effect]:
        """Tell all that have not heard it. Nobody waits for longer than the longest absence."""
        job.untold = {peer: told for peer, told in job.untold.items() if now <= told.since + MAX_ABSENCE}
        return self.recover(job)

    @staticmethod
    def recover(job: PairedJob) -> list[Effect]:
        """Tell it again after a restart."""
        return [Call(peer, job.id, told.request) for peer, told in job.untold.items()]

    def started(self, peer: Domain, request: GetProposal) -> SettleGroupStart | None:
        """The start of which that member has not heard, if it asks for its proposal."""
        job = self.ledger.jobs.get(request.job)
        told = job.untold.get(peer) if job is not None else None
        if told is None or not told.request.start:
            return None
        asked = request.request_id, request.caller
        return told.request if (told.request.request_id, told.request.job) == asked else None
