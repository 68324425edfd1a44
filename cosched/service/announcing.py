"""Links announced: the mate's domain is asked at once, learns of the link so, and what it says is kept.

A mate that is named by its id need not name us. Until its domain has said what it knows of it, it is asked again: else
it would never learn of a link that it could not look for when it was asked.
"""

from __future__ import annotations

import asyncio
import logging

from cosched.core.mates import WAITING
from cosched.core.protocol import Domain, Found, GetMateJobId, JobId, MateJobId
from cosched.service.domain import LiveDomain
from cosched.service.peers import CallError, Peers
from cosched.service.store import JobRecord
from cosched.service.translation import FOUND

AGAIN = 5.0  # seconds until a mate's domain is asked again, doubled each time,
AT_MOST = 300.0  # up to this
_LOG = logging.getLogger(__name__)


class Announcer:
    """Tells the domains of mates about links."""

    def __init__(self, domain: LiveDomain, peers: Peers) -> None:
        self._domain = domain
        self._peers = peers
        self._again: dict[JobId, asyncio.Task[None]] = {}

    async def ask(self, peer: Domain, question: GetMateJobId) -> MateJobId:
        """What the peer knows of a mate. CallError."""
        answer = await self._peers.call(peer, question)
        assert isinstance(answer, MateJobId)
        return answer

    async def announce(self, job: JobId) -> None:
        """Ask for the mate that a job names; if no answer comes, the job asks again when it is ready."""
        if not await self._announced(job):
            self._announce_later(job)

    def resume(self) -> None:
        """After a restart: announce the links of jobs on record that are not known to have been."""
        for job, record in self._domain.jobs.items():
            if record.mate is not None and record.lookup != FOUND[Found.MATE] and record.state in WAITING:
                self._announce_later(job)

    async def close(self) -> None:
        """Announce nothing more."""
        tasks = list(self._again.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _announce_later(self, job: JobId) -> None:
        if job not in self._again:
            task = self._again[job] = asyncio.create_task(self._repeat(job))
            task.add_done_callback(lambda _: self._again.pop(job))

    async def _repeat(self, job: JobId) -> None:
        pause = AGAIN
        while True:
            await asyncio.sleep(pause)
            if await self._announced(job):
                return
            pause = min(2 * pause, AT_MOST)

    async def _announced(self, job: JobId) -> bool:
        """Whether the domain of the job's mate knows of it now, or will without being asked again."""
        record = self._domain.jobs.get(job)
        if record is None or record.peer is None or record.state not in WAITING:
            return True
        question = _question(record)
        try:
            answer = await self.ask(record.peer, question)
        except CallError as error:
            _LOG.info("job %s: its mate's domain gives no answer: %s", job, error.problem)
            return question.pair is not None
        if job in self._domain.jobs:
            self._domain.hear(record.peer, question, answer)
        return question.pair is not None or answer.found is not Found.UNSUBMITTED


def _question(record: JobRecord) -> GetMateJobId:
    return GetMateJobId(str(record.id), record.pair, record.mate, record.owner)
