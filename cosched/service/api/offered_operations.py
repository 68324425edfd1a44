"""What users do on a domain whose resource manager schedules: jobs are submitted there, and name their mates there."""

from __future__ import annotations

import grpc

from cosched.adapters.batch_system import Link
from cosched.adapters.manager import ManagerError
from cosched.core.job import JobState
from cosched.core.protocol import Domain
from cosched.service.api.operations import QUICK, Asking, Operations, not_owner
from cosched.service.manager.offering import SUBMITTED_ELSEWHERE, Offering
from cosched.service.peers.linking import no_pair
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import MateNamed, Submission


class OfferedOperations(Operations):
    """The operations of one such domain; constructed as `Operations`."""

    @property
    def _offering(self) -> Offering:
        assert isinstance(self._runner, Offering)
        return self._runner

    async def look(self) -> None:
        """Somebody asks for the queue: the manager may have new jobs."""
        await self._offering.look()

    async def look_for(self, job: str) -> None:
        """Somebody asks for this job: the manager may have it."""
        await self._offering.look_for(job)

    async def _submit(self, asking: Asking, wanted: Submission) -> JobRecord:  # noqa: ARG002
        raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "SUBMIT_ELSEWHERE", SUBMITTED_ELSEWHERE)

    async def _cancel(self, asking: Asking, job: str) -> JobRecord:
        await self.look_for(job)
        record = self._owned(asking, job)
        with self._domain.turn():
            self._on_record(asking, record, "")
            self._domain.order_cancellation(record, asking.user)
        if await self._offering.cancelled(job, QUICK):
            await self._offering.look(0.0)  # by then it has ended, as a rule
        return record

    async def _link(self, asking: Asking, job: str, named: MateNamed) -> JobRecord:
        await self.look_for(job)
        mate = self._named(named)
        known = self._domain.jobs.get(job)
        if known is not None and known.peer is not None:
            self._written(mate)
            return await super()._link(asking, job, named)
        if known is not None:
            self._check_linkable(known, mate)
        self._check_mate(asking.user, mate)
        try:
            await self._offering.adopt(job, self._written(mate), asking.user)
        except ManagerError as error:
            raise _unreachable(error) from error
        except ValueError as error:
            raise no_pair(str(error)) from error
        if job not in self._domain.jobs:
            raise not_owner(f"{asking.user} has no queued job {job[:40]} here that names no mate")
        record = self._domain.jobs[job]
        with self._domain.turn():
            self._on_record(asking, record, f"{mate.peer}:{mate.mate or mate.pair}")
        return record

    async def _write_link(self, record: JobRecord, mate: MateNamed) -> None:
        try:
            await self._offering.relink(str(record.id), self._written(mate))
        except ManagerError as error:
            raise _unreachable(error) from error
        except ValueError as error:
            raise no_pair(str(error)) from error

    def _written(self, mate: MateNamed) -> Link:
        """The mate as a job names it: a pair's name says nothing of the domain."""
        if mate.pair is None:
            return Link(mate.peer, mate.mate, or_alone=mate.or_alone)
        if len(self._peer_names) > 1:
            raise no_pair("a pair's name does not tell in which of several domains the mate is: name its id")
        return Link(pair=mate.pair, or_alone=mate.or_alone)

    async def _unlink(self, asking: Asking, job: str, peer: Domain) -> JobRecord:
        await self.look_for(job)
        return await super()._unlink(asking, job, peer)

    async def _part(self, job: str) -> None:
        try:
            await self._offering.part(job)
        except ManagerError as error:
            raise _unreachable(error) from error

    async def _release(self, asking: Asking, job: str) -> JobRecord:
        await self.look_for(job)
        held = self._domain.core.jobs.get(job)
        if held is not None and held.cannot_yield and held.state is JobState.HOLDING:
            raise Refusal(
                grpc.StatusCode.FAILED_PRECONDITION,
                "JOB_STATE",
                f"job {job} would be lost with its nodes (srun, salloc or --no-requeue): it cannot be released",
            )
        return await super()._release(asking, job)


def _unreachable(error: ManagerError) -> Refusal:
    return Refusal(grpc.StatusCode.UNAVAILABLE, "MANAGER_UNREACHABLE", str(error))
