"""The queue where a domain's jobs are submitted and name their mates: our own, or a batch system's."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import grpc

from cosched.core.job import JobState
from cosched.core.protocol import Domain, GetMember, JobId, Lookup, Named, named_group, named_id, named_mate
from cosched.core.story import What
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.malleable import least_of
from cosched.service.manager.launches import spec_of
from cosched.service.manager.plans import BATCH_SYSTEMS, Plan, Planner, no_plan
from cosched.service.peers.linking import Coupled, no_pair
from cosched.service.store import AuditRecord, JobRecord, JobScript
from cosched.service.wire.errors import Refusal
from cosched_adapters.batch_system import BatchSystem, Foreseen, LoneJob, NodeState
from cosched_adapters.launcher import Launcher
from cosched_adapters.manager import ManagerError

ELSEWHERE = "jobs are submitted to the resource manager here: `cosched submit` on a host that has its commands does so"
FRESH = 2.0  # seconds after which a look at the queue is too old to be shown
AGED = 30.0  # the same, for estimates
PEERS_PATIENCE = 2.0  # seconds for the manager to find a job that a peer asks for: peers wait 5 s by default
_LOG = logging.getLogger(__name__)


class Queue:
    """The domain's own queue: all jobs and their mates are known."""

    def __init__(self, launcher: Launcher, planner: Planner = no_plan) -> None:
        self._launcher, self._planner = launcher, planner

    async def plan(self) -> Plan:
        """Return when the jobs that wait are expected to start."""
        return await self._planner()

    async def node_states(self) -> Mapping[str, NodeState]:
        """Return the states of all nodes by name, if the manager chooses them: else nobody knows more than we do."""
        return {}

    async def foresee(self, nodes: int, seconds: int, names: Sequence[str]) -> Foreseen | None:  # noqa: ARG002
        """Return when the manager would start a job that came now (`BatchSystem.foresee`); None: it cannot say."""
        return None

    def check_open(self) -> None:
        """Raise Refusal if jobs are not submitted to the domain itself."""

    def check(self, record: JobRecord, script: JobScript) -> None:
        """Raise ManagerError if the manager would not run this job."""
        self._launcher.check(replace(spec_of(record, script), nodes=least_of(record)))

    def leaves_end_to_manager(self, record: JobRecord) -> bool:
        """Return whether only the manager can end this active job."""
        return record.state is JobState.RUNNING or record.preempted_at is not None

    async def look(self, age: float = FRESH) -> None:
        """Learn of new jobs, since somebody asks for the queue. A look at most `age` seconds ago suffices."""

    async def look_for(self, job: JobId) -> None:
        """Learn of this job if it is new, since somebody asks for it."""

    async def look_for_caller(self, peer: Domain, question: Lookup, audit: AuditRecord | None) -> bool:  # noqa: ARG002
        """Learn of a job that a peer asks for: it may be new, perhaps without a mate yet.

        `audit`: the row of its adoption. False: the job may exist, but the manager does not answer.
        """
        return True

    def must_adopt(self, job: JobId) -> bool:  # noqa: ARG002
        """Return whether the domain knows this job only after it names a mate (`adopt`)."""
        return False

    async def adopt(self, job: JobId, named: Named, owner: str) -> None:
        """Give these to a queued job of this owner that names nobody, if there is such a job. Refusal."""

    def check_name(self, record: JobRecord, named: Named) -> None:
        """Raise Refusal if the job cannot name these instead of those that it names."""

    async def relink(self, job: JobId, named: Named) -> None:
        """Replace those that a job names by these. Refusal."""

    async def part(self, job: JobId) -> None:
        """Remove a job's mate. Refusal."""


class BatchQueue(Queue):
    """The queue of a batch system: jobs are submitted there, and we do not know those without a mate."""

    def __init__(self, domain: LiveDomain, system: BatchSystem, coupled: Coupled) -> None:
        self._domain, self._system, self._coupled = domain, system, coupled
        self._states: Mapping[str, NodeState] = {}
        self._states_until = 0.0  # by the monotonic clock

    async def plan(self) -> Plan:
        """See Queue: the batch system's own estimates."""
        await self.look(AGED)
        await asyncio.sleep(0)  # there may be thousands of jobs: others have their turn before they are gone through
        clock, told = self._domain.clock, self._system.outlooks()
        starts = {job: clock.from_wall(outlook.start_at) for job, outlook in told.items() if outlook.start_at}
        words = {job: outlook.reason for job, outlook in told.items() if outlook.reason}
        places = {job: (outlook.place, outlook.queued) for job, outlook in told.items() if outlook.place}
        looked_at = self._system.looked_at()
        made_at = clock.now() if looked_at is None else clock.from_wall(int(looked_at))
        return Plan(made_at, BATCH_SYSTEMS, starts, places, words)

    async def node_states(self) -> Mapping[str, NodeState]:
        """See Queue. Refusal."""
        if time.monotonic() >= self._states_until:
            with _refusals():
                self._states = await self._system.node_states()
            self._states_until = time.monotonic() + FRESH
        return self._states

    async def foresee(self, nodes: int, seconds: int, names: Sequence[str]) -> Foreseen | None:
        """See Queue. Refusal."""
        with _refusals():
            return await self._system.foresee(nodes, seconds, names)

    def check_open(self) -> None:
        raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "SUBMIT_ELSEWHERE", ELSEWHERE)

    def leaves_end_to_manager(self, record: JobRecord) -> bool:  # noqa: ARG002
        return True

    async def look(self, age: float = FRESH) -> None:
        await self._system.look(age)

    async def look_for(self, job: JobId) -> None:
        if job not in self._domain.jobs:
            await self._system.look()

    async def look_for_caller(self, peer: Domain, question: Lookup, audit: AuditRecord | None) -> bool:
        if self._is_settled(peer, question):
            return True
        try:
            async with asyncio.timeout(PEERS_PATIENCE):
                answered = await self._system.look()
                if not self._is_settled(peer, question):
                    await self._adopt_caller(peer, question, audit)
        except TimeoutError:
            return False
        return answered

    def _is_settled(self, peer: Domain, question: Lookup) -> bool:
        """Return whether the job is known, and names others or was unlinked from this one."""
        found = self._domain.core.names.find(peer, question)
        return found is not None and (found.group is not None or found.is_parted_from(peer, question.caller))

    async def _adopt_caller(self, peer: Domain, question: Lookup, audit: AuditRecord | None) -> None:
        """Give the caller, or its group, to the job that it names by its id, if that may be adopted."""
        job = named_id(question)
        if job is None:
            return
        if isinstance(question, GetMember):
            others = tuple(peer for peer in question.domains if peer != self._domain.name)
            named = named_group(question.group, others, windows=question.windows, at=question.at)
        else:
            named = named_mate(peer, mate=question.caller)
        names = self._domain.core.names
        owner = names.owner_here(peer, question.owner)

        def may(found: LoneJob) -> bool:
            return found.owner == owner and names.may_adopt(peer, adoptable=found.adoptable, held=found.held)

        try:
            if await self._system.adopt(job, named, may):
                with self._domain.turns.take() as changes:
                    changes.audits += [] if audit is None else [audit]
                    if job in self._domain.jobs:
                        self._domain.journal.note(job, What.LINKED, mate=question.caller, peer=peer, adopted=True)
        except (ManagerError, ValueError) as error:
            _LOG.warning("job %s cannot be linked with %s:%s: %s", job, peer, question.caller, error)

    def must_adopt(self, job: JobId) -> bool:
        known = self._domain.jobs.get(job)
        return known is None or not known.paired

    async def adopt(self, job: JobId, named: Named, owner: str) -> None:
        with _refusals():
            await self._system.adopt(job, self._as_written(named), lambda found: found.owner == owner)

    def check_name(self, record: JobRecord, named: Named) -> None:
        if not named.is_pair or not record.is_pair:
            raise no_pair("a job takes another mate here, but no other group: submit it anew")

    async def relink(self, job: JobId, named: Named) -> None:
        with _refusals():
            await self._system.relink(job, self._as_written(named))

    async def part(self, job: JobId) -> None:
        with _refusals():
            await self._system.part(job)

    def _as_written(self, named: Named) -> Named:
        """Return the mate, or the group, as jobs name it: with a pair's name, the only domain is left out."""
        if not named.name:
            return named
        is_only = named.is_pair and len(self._coupled.peers) < 2
        return named._replace(others=("",) if is_only else named.others, ids=())


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn the batch system's errors about a change of mates into refusals for users."""
    try:
        yield
    except ManagerError as error:
        raise Refusal(grpc.StatusCode.UNAVAILABLE, "MANAGER_UNREACHABLE", str(error)) from error
    except ValueError as error:
        raise no_pair(str(error)) from error
