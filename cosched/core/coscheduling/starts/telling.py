"""What others are told until they acknowledge it: what has become of a proposal, and that a job has changed.

Of a proposal members are told that the group starts, or that it is dropped (coscheduling.md). What a member is told
later takes the place of that, and so does a later proposal. That a job has changed is told as a hint (life.md, News).

All is told again until the other domain has acknowledged it, whatever becomes of the job: it may have ended, or have
left its group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cosched.core.coscheduling.ledger import Ledger, News, PairedJob, Untold, membership
from cosched.core.coscheduling.membership import all_but
from cosched.core.coscheduling.peers import MAX_ABSENCE
from cosched.core.effects import Call, Effect, Reschedule, SetTimer, Timer
from cosched.core.events import Answered, CallFailed, JobEvent, TellDue
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain, Failure, GetProposal, Settled, SettleGroupStart, TellMember
from cosched.core.story import What

RUNNING, DID_NOT_COMPLETE = JobState.RUNNING, (JobState.FAILED, JobState.CANCELLED)


@dataclass
class Telling:
    """What our jobs have told others, until these acknowledge it: `PairedJob.untold` and `PairedJob.news`."""

    ledger: Ledger

    def tell(self, job: PairedJob, peer: Domain, request: SettleGroupStart, now: int) -> list[Effect]:
        """Tell the member there, until it says that it has heard it."""
        job.untold = {**job.untold, peer: Untold(request, now)}
        self.ledger.telling[job.id] = None
        return [Call(peer, job.id, request)]

    # News

    def changed(self, job: PairedJob, before: JobState, now: int) -> list[Effect]:
        """The job is in another state: tell those who should act on it, and do not know it by a call or an answer."""
        group = job.group
        if group is None or not self.ledger.enabled:
            return []
        if job.state in WAITING:
            return self.tell_news(job, group.jobs, now) if before is RUNNING else []
        if job.state in DID_NOT_COMPLETE:
            return self.tell_news(job, group.jobs, now)
        known = group.know_of_start
        if group.bonds and job.state is JobState.COMPLETED:  # those that end with it have said so
            known = tuple(peer for peer in known if not self._follows(job, peer))
        for peer in group.jobs:
            if peer not in known:
                return self.tell_news(job, [each for each in group.jobs if each not in known], now)
        return []

    def _follows(self, job: PairedJob, peer: Domain) -> bool:
        bond = membership(job).bonds.get(peer)
        return bond is not None and (bond.fail_together or self.ledger.domain in bond.ends_with)

    def tell_news(self, job: PairedJob, peers: Iterable[Domain], now: int) -> list[Effect]:
        """Have the members of these domains ask again about the job."""
        members = membership(job).jobs
        news = {peer: TellMember(members[peer], job.id, job.news_told + 1) for peer in peers}
        if not news:
            return []
        job.news_told += 1
        job.news = {**job.news, **{peer: News(request, now) for peer, request in news.items()}}
        self.ledger.telling[job.id] = self.ledger.changed[job.id] = None
        return [Call(peer, job.id, request) for peer, request in news.items()]

    # Until it is acknowledged

    def handle(self, job: PairedJob, event: JobEvent, now: int) -> list[Effect]:
        """An acknowledgement, a failed call, or the time to tell it again. Other events change nothing here."""
        if isinstance(event, TellDue):
            return self._tell_again(job, now)
        if not isinstance(event, Answered | CallFailed):
            return []
        of_news = isinstance(event.request, TellMember)
        told = job.news.get(event.peer) if of_news else job.untold.get(event.peer)
        if told is None or told.request != event.request:
            return []
        if isinstance(event, CallFailed):
            goes_on = self._unheard(job, event) if of_news and job.missed else []
            return [SetTimer(job.id, Timer.TELL, now + self._pause(job, now)), *goes_on]
        if of_news:
            job.news = all_but(event.peer, job.news)
        else:
            job.untold = all_but(event.peer, job.untold)
        self._settle(job)
        if of_news and job.missed:
            return self._go_on(job)
        started = isinstance(told, Untold) and told.request.start
        apart = started and isinstance(event.answer, Settled) and not event.answer.current
        return self.ledger.note(job, What.MEMBER_APART, peer=event.peer) if apart else []

    def _unheard(self, job: PairedJob, event: CallFailed) -> list[Effect]:
        """A job that was queued again waits until others know that; for one that cannot be reached it does not."""
        if event.failure in (Failure.BUSY, Failure.SLOW):
            return []
        if job.group is not None:
            job.group.unanswered |= {event.peer}
        return self._go_on(job)

    @staticmethod
    def _go_on(job: PairedJob) -> list[Effect]:
        """The job, which waits because others have not heard that it has changed, may go on."""
        job.hinted |= job.state is JobState.HOLDING
        return [Reschedule(job.id)] if job.state is JobState.QUEUED else []

    def _settle(self, job: PairedJob) -> None:
        if not job.news and not job.untold:
            self.ledger.telling.pop(job.id, None)

    def _pause(self, job: PairedJob, now: int) -> int:
        """Return the seconds until it is told again: fewer at first."""
        settings = self.ledger.settings
        told: list[Untold | News] = [*job.untold.values(), *job.news.values()]
        fresh = any(now < each.since + settings.peer_patience for each in told)
        return settings.retry_interval if fresh else settings.long_pause

    def _tell_again(self, job: PairedJob, now: int) -> list[Effect]:
        """Tell all that have not heard it. Nobody waits for longer than the longest absence."""
        job.untold = {peer: told for peer, told in job.untold.items() if now <= told.since + MAX_ABSENCE}
        job.news = {peer: told for peer, told in job.news.items() if now <= told.since + MAX_ABSENCE}
        self._settle(job)
        return self.recover(job)

    def recover(self, job: PairedJob) -> list[Effect]:
        """Tell it again after a restart."""
        if job.news or job.untold:
            self.ledger.telling[job.id] = None
        told: list[tuple[Domain, Untold | News]] = [*job.untold.items(), *job.news.items()]
        return [Call(peer, job.id, each.request) for peer, each in told]

    def tell_peer(self, peer: Domain) -> list[Effect]:
        """The peer is there again: tell it what it has not acknowledged."""
        jobs = [self.ledger.jobs[id] for id in self.ledger.telling if id in self.ledger.jobs]
        told = [(job, told[peer]) for job in jobs for told in (job.untold, job.news) if peer in told]
        return [Call(peer, job.id, each.request) for job, each in told]

    def started(self, peer: Domain, request: GetProposal) -> SettleGroupStart | None:
        """Return the start that that member has not heard of, if it asks for its proposal."""
        job = self.ledger.jobs.get(request.job)
        told = job.untold.get(peer) if job is not None else None
        if told is None or not told.request.start:
            return None
        asked = request.request_id, request.caller
        return told.request if (told.request.request_id, told.request.job) == asked else None
