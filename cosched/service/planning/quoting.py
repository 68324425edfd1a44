"""When a job would start that is not submitted: a copy of the scheduler with this job is played on.

Where the manager schedules by itself, that says it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import cast

import grpc

from cosched.core.scheduling.forecast import Playable, foresee_with
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.malleable import NODELIST, names_in
from cosched.service.manager.plans import in_slices
from cosched.service.manager.queues import Queue
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError
from cosched.service.wire.submissions import Submission
from cosched_adapters.batch_system import Foreseen


class Quotes:
    """The quotes of one domain; belongs to its loop.

    One is made at a time, and then none for as long as it took, so that no number of callers can slow the domain.
    """

    def __init__(self, domain: LiveDomain, queue: Queue, prospect: Callable[[Submission, str], ClusterJob]) -> None:
        """`prospect`: returns what our scheduler would be told of a job and its owner, if it came now; Refusal."""
        self._domain, self._queue, self._prospect = domain, queue, prospect
        self._one = asyncio.Lock()
        self._next = 0.0  # by the monotonic clock: when the next may be made

    async def start_of(self, wanted: Submission, owner: str) -> Foreseen:
        """Return when a job would start, in seconds since 1970, if it were submitted now and nobody else came.

        Refusal: that is never foreseen here, or there can be no such job.
        """
        async with self._one:
            await asyncio.sleep(max(0.0, self._next - time.monotonic()))
            began = time.monotonic()
            try:
                if self._domain.kind.capabilities.estimates:
                    return await self._played(self._prospect(wanted, owner))  # no other job has its id now
                return await self._told(wanted)
            finally:
                ended = time.monotonic()
                self._next = ended + (ended - began)

    async def _played(self, job: ClusterJob) -> Foreseen:
        clock = self._domain.clock
        now = clock.now()
        forecast = foresee_with(cast(Playable, self._domain.scheduler), job, now)
        async with aclosing(in_slices(forecast)) as starts:
            async for foreseen in starts:
                if foreseen.job == job.id:
                    return Foreseen(clock.to_wall(foreseen.at), clock.to_wall(now))
        return Foreseen(None, clock.to_wall(now))

    async def _told(self, wanted: Submission) -> Foreseen:
        """Return what the manager says."""
        names = names_in(wanted.columns)
        if unread := wanted.columns.keys() - {NODELIST}:
            said = f"{min(unread)}: nothing reads this of jobs here"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_SUCH_COLUMN", said)
        if names and len(names) != wanted.nodes:
            raise FieldError(f"columns[{NODELIST}]", f"has {len(names)} names, and {wanted.nodes} nodes are wanted")
        told = await self._queue.foresee(wanted.nodes, wanted.time_limit, names)
        if told is None:
            said = f"{self._domain.kind.title} does not foresee when jobs start"
            raise Refusal(grpc.StatusCode.UNIMPLEMENTED, "NO_QUOTES", said)
        return told
