"""Announces links: asks the domain of a mate at once, which so learns of the link, and records its answer.

Who is named by an id need not name us. So we ask that domain again until it has said what it knows of the job. Else it
would never learn of the link if it could not look for the job the first time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from contextlib import suppress

from cosched.core.job import WAITING
from cosched.core.protocol import Domain, Found, GetMateJobId, GetMember, GroupName, JobId, MateJobId
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.store import JobRecord
from cosched.service.tasks import Tasks
from cosched.service.wire.message_parts import FOUND

AGAIN = 5.0  # seconds until a mate's domain is asked again, doubled each time,
AT_MOST = 300.0  # up to this
_LOG = logging.getLogger(__name__)


class Announcer:
    """Tells the domains of mates about links."""

    def __init__(self, domain: LiveDomain, peers: PeerClients, tasks: Tasks) -> None:
        self._domain = domain
        self._peers = peers
        self._tasks = tasks
        self._again: dict[JobId, asyncio.Event] = {}  # links to announce again; set: at once

    async def ask(self, peer: Domain, question: GetMateJobId | GetMember) -> MateJobId:
        """Ask the peer what it knows of a mate. CallError."""
        await self._domain.turns.durable()  # if a power failure undid the job, its id would be reused
        answer = await self._peers.call(peer, question)
        assert isinstance(answer, MateJobId)
        return answer

    async def announce(self, job: JobId) -> MateJobId | None:
        """Ask for the mate that a job names, and return the answer.

        None: no answer came. We ask again when the peer answers (for a mate named by its id) or when the job is ready.
        """
        answer, settled = await self._announced(job)
        if not settled:
            self._announce_later(job)
        return answer

    async def without_groups(self, peers: Collection[Domain]) -> list[Domain]:
        """Return those of the peers that take no members of groups, as they say."""
        return await self._peers.without_groups(peers)

    async def ask_for_members(self, record: JobRecord, named: GroupName) -> dict[Domain, MateJobId]:
        """Ask the other domains of a job's group for their members; the answers that came.

        Others come when the job is ready, or sooner for members that are named by their ids: those are asked for again.
        """
        domains, ids = tuple(sorted((self._domain.name, *named.others))), dict(named.ids)
        question = GetMember(str(record.id), named.name, domains, record.owner, named.windows, named.at)
        asked = [(peer, question._replace(member=ids.get(peer))) for peer in named.others]
        told = await asyncio.gather(*(self._asked_for_member(*member) for member in asked))
        answers = {peer: answer for peer, answer in zip(named.others, told, strict=True) if answer is not None}
        if not _settle(named, answers):
            self._announce_later(str(record.id))
        return answers

    async def _asked_for_member(self, peer: Domain, question: GetMember) -> MateJobId | None:
        try:
            return await self.ask(peer, question)
        except CallError as error:
            _LOG.info("job %s: %s gives no answer about its group: %s", question.caller, peer, error.problem)
            return None

    def joined(self, job: JobId) -> None:
        """The job has just joined a group, since a member named it by its id: ask who the others are."""
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
            named = record.named
            if isinstance(named, GroupName):
                is_open = bool(named.ids)
            else:
                is_open = named.mate is not None and record.lookup != FOUND[Found.MATE]
            if is_open and record.state in WAITING:
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
            if (await self._announced(job))[1]:
                return
            pause = min(2 * pause, AT_MOST)

    async def _announced(self, job: JobId) -> tuple[MateJobId | None, bool]:
        """Return the answer of the mate's domain, and whether it knows of the job or will without being asked again."""
        record = self._domain.jobs.get(job)
        if record is None or not record.mates or record.state not in WAITING:
            return None, True
        mate = record.named
        if isinstance(mate, GroupName):
            answers = await self.ask_for_members(record, mate)
            self._domain.calls.heard_of_members(job, answers)
            return None, _settle(mate, answers)
        question = GetMateJobId(job, mate.pair, mate.mate, record.owner)
        try:
            answer = await self.ask(mate.peer, question)
        except CallError as error:
            _LOG.info("job %s: its mate's domain gives no answer: %s", job, error.problem)
            return None, question.pair is not None
        if job in self._domain.jobs:
            self._domain.calls.heard(mate.peer, question, answer)
        return answer, question.pair is not None or answer.found is not Found.UNSUBMITTED


def _settle(named: GroupName, answers: Mapping[Domain, MateJobId]) -> bool:
    """Whether the domains of the members that are named by their ids have said what they know of those."""
    told = {peer for peer, answer in answers.items() if answer.found is not Found.UNSUBMITTED}
    return told.issuperset(dict(named.ids))
