"""Where the jobs of a domain are submitted, and name their mates: here, or in the queue of a batch system."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc

from cosched.adapters.batch_system import BatchSystem, Link
from cosched.adapters.launcher import Launcher
from cosched.adapters.manager import ManagerError
from cosched.core.job import JobState
from cosched.core.protocol import Domain, GetMateJobId, JobId
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.launches import spec_of
from cosched.service.peers.linking import no_pair
from cosched.service.store import JobRecord, JobScript
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import MateNamed

SUBMITTED_ELSEWHERE = (
    "jobs are submitted to the resource manager here: `cosched submit` on a host that has its commands does so"
)
FRESH = 2.0  # seconds for which a look at the queue is good enough to be shown
PEERS_PATIENCE = 2.0  # seconds that the manager has to find a job for which a peer asks: peers wait for 5 s by default
_LOG = logging.getLogger(__name__)


class Queue:
    """The domain's own queue: it knows all jobs, and which mates they name."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher

    def check_open(self) -> None:
        """Refusal if jobs are not submitted to the domain itself."""

    def check(self, record: JobRecord, script: JobScript) -> None:
        """Whether the manager would run this job; ManagerError."""
        self._launcher.check(spec_of(record, script))

    def leaves_end_to_manager(self, record: JobRecord) -> bool:
        """Whether only the manager can end this job, which has not ended."""
        return record.state is JobState.RUNNING

    async def look(self, age: float = FRESH) -> None:
        """Learn of new jobs, since somebody asks for the queue. A look so many seconds ago is good enough."""

    async def look_for(self, job: JobId) -> None:
        """Learn of this job, for which somebody asks, if it is new."""

    async def look_for_mate(self, peer: Domain, question: GetMateJobId) -> bool:  # noqa: ARG002
        """A peer asks for a job of which no mate is known: it may be new, perhaps without a mate so far.

        False: it may be there, but the manager does not answer.
        """
        return True

    def must_adopt(self, job: JobId) -> bool:  # noqa: ARG002
        """Whether the domain will know this job only if that names a mate (`adopt`)."""
        return False

    async def adopt(self, job: JobId, mate: MateNamed, owner: str) -> None:
        """Have a queued job of this owner that names no mate name this one, if there is such a job. Refusal."""

    def check_name(self, mate: MateNamed) -> None:
        """Refusal if jobs cannot name this mate."""

    async def relink(self, job: JobId, mate: MateNamed) -> None:
        """Have a job that names a mate name this one. Refusal."""

    async def part(self, job: JobId) -> None:
        """Have a job name no mate any more. Refusal."""


class BatchQueue(Queue):
    """The queue of a batch system: jobs are submitted there, and those that name no mate are unknown here."""

    def __init__(self, domain: LiveDomain, system: BatchSystem, peers: Sequence[Domain]) -> None:
        """`peers`: the domains that are configured."""
        self._domain = domain
        self._system = system
        self._peers = peers

    def check_open(self) -> None:
        """See Queue."""
        raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "SUBMIT_ELSEWHERE", SUBMITTED_ELSEWHERE)

    def leaves_end_to_manager(self, record: JobRecord) -> bool:  # noqa: ARG002
        """See Queue."""
        return True

    async def look(self, age: float = FRESH) -> None:
        """See Queue."""
        await self._system.look(age)

    async def look_for(self, job: JobId) -> None:
        """See Queue."""
        if job not in self._domain.jobs:
            await self._system.look()

    async def look_for_mate(self, peer: Domain, question: GetMateJobId) -> bool:
        """See Queue."""
        if self._is_settled(peer, question):
            return True
        try:
            async with asyncio.timeout(PEERS_PATIENCE):
                answered = await self._system.look()
                if question.pair is None and question.mate is not None and not self._is_settled(peer, question):
                    await self._adopt_caller(peer, question, question.mate)
        except TimeoutError:
            return False
        return answered

    def _is_settled(self, peer: Domain, question: GetMateJobId) -> bool:
        """Whether the job sought is known, and names a mate or has parted with this one."""
        found = self._domain.core.mates.find(peer, question)
        return found is not None and (found.peer != "" or found.parted == (peer, question.caller))

    async def _adopt_caller(self, peer: Domain, question: GetMateJobId, mate: JobId) -> None:
        owner = self._domain.core.mates.owner_here(peer, question.owner)
        try:
            await self._system.adopt(mate, Link(peer, question.caller), owner)
        except (ManagerError, ValueError) as error:
            _LOG.warning("job %s cannot be linked with %s:%s: %s", mate, peer, question.caller, error)

    def must_adopt(self, job: JobId) -> bool:
        """See Queue."""
        known = self._domain.jobs.get(job)
        return known is None or known.peer is None

    async def adopt(self, job: JobId, mate: MateNamed, owner: str) -> None:
        """See Queue."""
        with _refusals():
            await self._system.adopt(job, self._link(mate), owner)

    def check_name(self, mate: MateNamed) -> None:
        """See Queue."""
        self._link(mate)

    async def relink(self, job: JobId, mate: MateNamed) -> None:
        """See Queue."""
        with _refusals():
            await self._system.relink(job, self._link(mate))

    async def part(self, job: JobId) -> None:
        """See Queue."""
        with _refusals():
            await self._system.part(job)

    def _link(self, mate: MateNamed) -> Link:
        """The mate as a job names it: a pair's name says nothing of the domain."""
        if mate.pair is None:
            return Link(mate.peer, mate.mate, or_alone=mate.or_alone)
        if len(self._peers) > 1:
            raise no_pair("a pair's name does not tell in which of several domains the mate is: name its id")
        return Link(pair=mate.pair, or_alone=mate.or_alone)


@contextmanager
def _refusals() -> Iterator[None]:
    """What the batch system says to a change of mates, for users."""
    try:
        yield
    except ManagerError as error:
        raise Refusal(grpc.StatusCode.UNAVAILABLE, "MANAGER_UNREACHABLE", str(error)) from error
    except ValueError as error:
        raise no_pair(str(error)) from error
