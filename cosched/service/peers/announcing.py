"""Announces links: asks the domain of a mate at once, which so learns of the link, and records its answer.

Who is named by an id need not name us. So we ask that domain again until it has said what it knows of the job. Else it
would never learn of the link if it could not look for the job the first time. A domain that first asks whether an
earlier mate has ended is also asked again: soon, so that the answer comes with the submission.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from cosched.core.coscheduling.membership import Membership
from cosched.core.job import WAITING
from cosched.core.protocol import Domain, Found, JobId, Lookup, MateJobId, Named, Reply, TellMember
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.outcomes import ASKING
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.store import JobRecord
from cosched.service.tasks import Tasks
from cosched.service.wire.message_parts import FOUND

AGAIN = 5.0  # seconds until a mate's domain is asked again, doubled each time,
AT_MOST = 300.0  # up to this
SOON = (0.1, 0.2, 0.4, 0.8)  # until one is that has itself to ask first
Told = Mapping[Domain, MateJobId | CallError]
_LOG = logging.getLogger(__name__)


class Announcer:
    """Tells the domains of mates about links."""

    def __init__(self, domain: LiveDomain, peers: PeerClients, tasks: Tasks) -> None:
        self._domain = domain
        self.peers = peers
        self._tasks = tasks
        self._again: dict[JobId, asyncio.Event] = {}  # links to announce again; set: at once

    async def announce(self, record: JobRecord) -> Mapping[Domain, MateJobId]:
        """Ask for those with which the job starts, and return the answers that came.

        Others come when the job is ready; who is named by an id is asked for again until that domain has answered.
        """
        named = record.named
        told = await self.ask(record, named)
        self.heard(record, named, told)
        return answers_among(told)

    def heard(self, record: JobRecord, named: Named, told: Told) -> bool:
        """Note what was said of those that a job names; return whether that settles it: else they are asked again."""
        self._domain.calls.heard(str(record.id), named, answers_among(told))
        if not (settled := _settle(named, told)):
            self._announce_later(str(record.id))
        return settled

    async def ask(self, record: JobRecord, named: Named) -> Told:
        """Ask the other domains what they know of those that the job names, or is to name."""
        await self._domain.turns.durable()  # if a power failure undid the job, its id would be reused
        group = Membership.named(self._domain.name, named)
        assert group is not None
        questions = (group.lookup(str(record.id), record.owner, peer) for peer in named.others)
        told = await asyncio.gather(*map(self._asked, named.others, questions))
        return dict(zip(named.others, told, strict=True))

    async def _asked(self, peer: Domain, question: Lookup) -> MateJobId | CallError:
        try:
            answer = await self._answer(peer, question)
        except CallError as error:
            said = self._domain.presence.silent(peer, error.problem)
            _LOG.info("job %s does not know about its mate: %s", question.caller, said)
            return error
        assert isinstance(answer, MateJobId)
        return answer

    async def _answer(self, peer: Domain, question: Lookup) -> Reply:
        """Ask, and soon again while the peer has to ask first; CallError."""
        for pause in SOON:
            try:
                return await self.peers.call(peer, question)
            except CallError as error:
                if error.reason != ASKING:
                    raise
            await asyncio.sleep(pause)
        return await self.peers.call(peer, question)

    async def tell(self, peer: Domain, news: TellMember, still: Callable[[], bool]) -> None:
        """Tell the peer this until it has heard it, or it is `still` so no longer; not if it does not know the call."""
        pause = AGAIN
        while still():
            try:
                await self.peers.tell_members(peer, [news])
            except CallError as error:
                _LOG.info("%s:%s is not told of job %s: %s", peer, news.job, news.caller, error.problem)
                await asyncio.sleep(pause)
                pause = min(2 * pause, AT_MOST)
            else:
                return

    def joined(self, job: JobId) -> None:
        """Note that the job has just joined a group, since a member named it by its id: ask who the others are."""
        self._announce_later(job)
        self._again[job].set()

    def hurry(self, peer: Domain) -> None:
        """Announce waiting links to this peer at once, since it answers again."""
        for job, now in self._again.items():
            record = self._domain.jobs.get(job)
            if record is not None and peer in record.mates:
                now.set()

    def resume(self) -> None:
        """After a restart, announce the recorded links that may not have been announced."""
        for job, record in self._domain.jobs.items():
            if record.named.ids and record.lookup != FOUND[Found.MATE] and record.state in WAITING:
                self._announce_later(job)

    def _announce_later(self, job: JobId) -> None:
        if job not in self._again:
            now = self._again[job] = asyncio.Event()
            self._tasks.run(self._repeat(job, now)).add_done_callback(lambda _: self._again.pop(job))

    async def _repeat(self, job: JobId, now: asyncio.Event) -> None:
        pause = AGAIN
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(now.wait(), pause)
            now.clear()
            record = self._domain.jobs.get(job)
            if record is None or not record.mates or record.state not in WAITING:
                return
            named = record.named
            if self.heard(record, named, await self.ask(record, named)):
                return
            pause = min(2 * pause, AT_MOST)


def answers_among(told: Told) -> dict[Domain, MateJobId]:
    """Return the answers that came."""
    return {peer: answer for peer, answer in told.items() if isinstance(answer, MateJobId)}


def _settle(named: Named, told: Told) -> bool:
    """Whether all know of the job who are named by an id, or their domains have said why not, and none asks first.

    The job of a pair's name will ask by itself.
    """
    know = {peer for peer, answer in answers_among(told).items() if answer.found is not Found.UNSUBMITTED}
    ask_first = any(isinstance(answer, CallError) and answer.reason == ASKING for answer in told.values())
    return not ask_first and (bool(named.pair) or know.issuperset(dict(named.ids)))
