"""Between a domain and a resource manager that schedules: its reports come in, the domain's orders go out.

See `adapters.batch_system` and `offered_domain`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from cosched.adapters.batch_system import (
    BatchReport,
    BatchSystem,
    Known,
    Link,
    Offered,
    Refused,
    Relinked,
    Submitted,
    Withdrawn,
)
from cosched.adapters.launcher import JobSpec
from cosched.adapters.manager import End, Ended, ManagerError, Started, UnknownJobError
from cosched.core.effects import Release, Reschedule, Start, Try, Yield
from cosched.core.job import JobState
from cosched.core.protocol import Domain, GetMateJobId, JobId
from cosched.service.domain import story
from cosched.service.domain.changes import Cancel, Order, PassOver
from cosched.service.domain.offered_domain import GIVE_BACK, OfferedDomain
from cosched.service.manager.cancelling import Cancellations
from cosched.service.manager.running import explained, state_of
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import until_linkable
from cosched.service.store import EventRecord, JobRecord

SUBMITTED_ELSEWHERE = (
    "jobs are submitted to the resource manager here: `cosched submit` on a host that has its commands does so"
)
FRESH = 2.0  # seconds for which a look at the queue is good enough to be shown
DOUBT = 1.0  # seconds, after which a try is likely to fail if another job is in its way
WANTED_FIRST = 5.0  # seconds; a forced release takes one to three, unless Slurm does not answer
PASSED_OVER = 3.0  # seconds for which a job is not offered that others have come before
PEERS_PATIENCE = 2.0  # seconds that the manager has to find a job for which a peer asks: peers wait for 5 s by default
_LOG = logging.getLogger(__name__)


class Offering:
    """In the place of a `Runner`, for managers that offer jobs."""

    problem = ""  # orders never wait for room here

    def __init__(
        self,
        domain: OfferedDomain,
        manager: BatchSystem,
        announcer: Announcer,
        peer_names: Collection[Domain],
        fail: Callable[[BaseException], None],
    ) -> None:
        """`fail`: called with a fault of ours, after which nothing can be relied on."""
        self._domain = domain
        self._manager = manager
        self._announcer = announcer
        self._peer_names = list(peer_names)
        self._fail = fail
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancellations = Cancellations(domain, self._give_cancellation)

    @property
    def start_lead(self) -> float:
        """Seconds that a job needs at least to start at an exact instant."""
        return self._manager.start_lead

    def check(self, spec: JobSpec) -> None:  # noqa: ARG002
        """The manager takes no job from us: ManagerError."""
        raise ManagerError(SUBMITTED_ELSEWHERE)

    # Orders

    async def order(self, order: Order) -> None:
        """Tell the manager. What it cannot do shows in its reports."""
        try:
            await _ORDERS[type(order)](self, order)
        except UnknownJobError as error:
            _LOG.info("job %s: %s", order.job, error)
        except ManagerError as error:
            _LOG.warning("job %s: %s", order.job, error)
        finally:
            if type(order) in GIVE_BACK:
                self._domain.giving_back.discard(order.job)

    async def _start(self, start: Start) -> None:
        await self._manager.start(start.job, start.at)

    async def _yield(self, order: Yield) -> None:
        await self._manager.give_back(order.job)

    async def _release(self, order: Release) -> None:
        """End a hold; the jobs for which mates hold nodes elsewhere come first now, for a while at most."""
        wanted = self._domain.cluster.wanted(self._domain.now)
        with ExitStack() as while_it_lasts:
            while_it_lasts.enter_context(self._domain.favouring(wanted))
            asyncio.get_running_loop().call_later(WANTED_FIRST, while_it_lasts.close)
            for job in wanted:
                self._run(self._hasten(job))
            await self._manager.release(order.job)

    async def _pass_over(self, order: PassOver) -> None:
        await self._manager.give_back(order.job, PASSED_OVER)

    async def _reschedule(self, order: Reschedule) -> None:
        await self._hasten(order.job)

    async def _hasten(self, job: JobId) -> None:
        try:
            await self._manager.hasten(job)
        except ManagerError as error:
            _LOG.info("job %s: %s", job, error)

    async def _try(self, order: Try) -> None:
        offered = False
        doubt = asyncio.get_running_loop().call_later(DOUBT, self._domain.give_way, order.job)
        try:
            offered = await self._manager.try_start(order.job)
        finally:
            doubt.cancel()
            self._domain.tried(order.job, offered)

    async def adopt(self, job: JobId, link: Link, owner: str) -> None:
        """Have a queued job of this owner name this mate, if it names none. ManagerError; ValueError: it cannot."""
        await self._manager.adopt(job, link, owner)

    async def relink(self, job: JobId, link: Link) -> None:
        """Have a job that names a mate name this one. ManagerError; ValueError: it cannot."""
        await self._manager.relink(job, link)

    async def part(self, job: JobId) -> None:
        """Have a job name no mate any more. ManagerError."""
        await self._manager.part(job)

    async def _cancel(self, order: Cancel) -> None:
        self._cancellations.begin(order.job)

    async def _give_cancellation(self, job: JobId) -> None:
        await self._manager.cancel(job)

    async def cancelled(self, job: JobId, patience: float) -> bool:
        """Whether the manager has taken an order to end a job, within so many seconds."""
        return await self._cancellations.taken(job, patience)

    # Looking for jobs that are not known yet

    async def look_for_mate(self, peer: Domain, question: GetMateJobId) -> bool:
        """A peer asks for a job of which no mate is known: the manager may have it, perhaps without a mate so far.

        False: it may have it, but does not answer.
        """
        if self._is_settled(peer, question):
            return True
        try:
            async with asyncio.timeout(PEERS_PATIENCE):
                answered = await self._manager.look()
                if question.pair is None and question.mate is not None and not self._is_settled(peer, question):
                    await self._adopt_caller(peer, question, question.mate)
        except TimeoutError:
            return False
        return answered

    def _is_settled(self, peer: Domain, question: GetMateJobId) -> bool:
        """Whether the job sought is known, and names a mate or has parted with this one."""
        mates = self._domain.core.mates
        found = mates.find(peer, question)
        return found is not None and (found.peer != "" or found.parted == (peer, question.caller))

    async def _adopt_caller(self, peer: Domain, question: GetMateJobId, mate: JobId) -> None:
        owner = self._domain.core.mates.owner_here(peer, question.owner)
        try:
            await self._manager.adopt(mate, Link(peer, question.caller), owner)
        except (ManagerError, ValueError) as error:
            _LOG.warning("job %s cannot be linked with %s:%s: %s", mate, peer, question.caller, error)

    async def look(self, age: float = FRESH) -> None:
        """Somebody asks for the queue: the manager may have new jobs. A look so many seconds ago is good enough."""
        await self._manager.look(age)

    async def look_for(self, job: JobId) -> None:
        """Somebody asks for this job: the manager may have it."""
        if job not in self._domain.jobs:
            await self._manager.look()

    # Reports

    def start(self) -> None:
        """Listen to the manager's reports."""
        self._run(self._read())

    async def close(self) -> None:
        """Listen no more; cancellations that wait are on record."""
        await self._cancellations.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self) -> None:
        async for report in self._manager.reports():
            _REPORTS[type(report)](self, report)

    def _submitted(self, job: Submitted | Known) -> None:
        if job.link is None:
            return
        peer = job.link.peer or (self._peer_names[0] if len(self._peer_names) == 1 else "")
        if peer not in self._peer_names:
            known = ", ".join(self._peer_names) or "none"
            said = f"no domain {job.link.peer}" if job.link.peer else "a pair's name, but not in which domain"
            reason = f"its comment names {said} (configured: {known})"
            _LOG.warning("job %s of %s starts alone: %s", job.job_id, job.owner, reason)
            self._domain.refused(job.job_id, reason)
            return
        self._domain.submitted(self._record(job, peer, job.link), or_alone=job.link.or_alone)
        self._run(self._announce(job.job_id))

    async def _announce(self, job: JobId) -> None:
        await self._announcer.announce(job)

    def _record(self, job: Submitted | Known, peer: Domain, link: Link) -> JobRecord:
        clock = self._domain.clock
        return JobRecord(
            id=int(job.job_id),
            name="".join(character if character.isprintable() else "?" for character in job.name),
            owner=job.owner,
            uid=None,
            nodes=job.nodes,
            time_limit=job.time_limit,
            submitted_at=min(clock.from_wall(job.submitted_at), clock.now()),
            state=JobState.QUEUED,
            reason=story.WAITS_IN_QUEUE,
            peer=peer,
            pair=link.pair,
            mate=link.mate,
        )

    def _refused(self, report: Refused) -> None:
        self._domain.refused(report.job_id, report.reason)

    def _relinked(self, report: Relinked) -> None:
        link = report.link or Link()
        peer = link.peer or (self._peer_names[0] if report.link and len(self._peer_names) == 1 else "")
        self._run(self._follow_link(report.job_id, peer if peer in self._peer_names else "", link))

    async def _follow_link(self, job: JobId, peer: Domain, link: Link) -> None:
        await until_linkable(self._domain, job)
        self._domain.relinked(job, peer, link.pair, link.mate, or_alone=link.or_alone)
        await self._announce(job)

    def _offered(self, report: Offered) -> None:
        self._domain.offered(report.job_id, report.nodes, can_yield=report.can_yield)

    def _withdrawn(self, report: Withdrawn) -> None:
        self._domain.withdrawn(report.job_id)

    def _started(self, report: Started) -> None:
        self._domain.started(report.job_id)

    def _ended(self, report: Ended) -> None:
        if report.how is End.UNSTARTED:
            self._domain.metrics.launch_failures.inc()
        if report.started_at is not None:
            self._domain.started(report.job_id)
        self._domain.ended(report.job_id, state_of(report), explained(report), report.exit_code)

    # After a restart

    async def reconcile(self, found: Mapping[str, Known], running: Iterable[JobId]) -> None:  # noqa: ARG002
        """What the manager has, against what is on record.

        Those that wait for their mates on record do so still if they have nodes, be they offered again soon or late;
        those that run go on when they are offered.
        """
        for job in list(self._domain.jobs):
            if job not in found:
                self._domain.ended(job, JobState.FAILED, "its resource manager does not know it any more")
        for known in found.values():
            self._take_up(known)
        self._cancellations.resume()

    def _take_up(self, known: Known) -> None:
        if known.end is not None:
            self._ended(known.end)
            return
        if known.job_id not in self._domain.jobs:
            self._submitted(known)
        if known.running:
            self._domain.started(known.job_id)
        elif not known.offered and self._domain.state(known.job_id) in (JobState.READY, JobState.HOLDING):
            self._domain.withdrawn(known.job_id)

    @staticmethod
    def over(events: Sequence[EventRecord]) -> list[JobId]:  # noqa: ARG004
        """The manager keeps nothing for us."""
        return []

    async def forget(self, job: JobId) -> None:
        """The manager keeps nothing for us."""

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)


_ORDERS: dict[type, Callable[[Offering, Any], Coroutine[Any, Any, None]]] = {
    Start: Offering._start,
    Yield: Offering._yield,
    Release: Offering._release,
    Try: Offering._try,
    Reschedule: Offering._reschedule,
    PassOver: Offering._pass_over,
    Cancel: Offering._cancel,
}
_REPORTS: dict[type[BatchReport], Callable[[Offering, Any], None]] = {
    Submitted: Offering._submitted,
    Refused: Offering._refused,
    Relinked: Offering._relinked,
    Offered: Offering._offered,
    Withdrawn: Offering._withdrawn,
    Started: Offering._started,
    Ended: Offering._ended,
}
