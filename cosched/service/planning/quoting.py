"""When a job would start that is not submitted: a copy of the scheduler with this job is played on."""

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
from cosched.service.manager.plans import in_slices
from cosched.service.wire.errors import Refusal


class Quotes:
    """The quotes of one domain; belongs to its loop.

    One is made at a time, and then none for as long as it took, so that no number of callers can slow the domain.
    """

    def __init__(self, domain: LiveDomain) -> None:
        self._domain = domain
        self._one = asyncio.Lock()
        self._next = 0.0  # by the monotonic clock: when the next may be made

    async def start_of(self, prospect: Callable[[], ClusterJob]) -> tuple[int, int | None]:
        """Return the present instant, and when a job would start if it were submitted now and nobody else came.

        None: that cannot be foreseen. `prospect` makes the job when its turn has come: no other has its id then.
        Refusal: the scheduler cannot be played on.
        """
        if not self._domain.kind.capabilities.estimates:
            said = f"{self._domain.kind.title} does not foresee when jobs start"
            raise Refusal(grpc.StatusCode.UNIMPLEMENTED, "NO_QUOTES", said)
        async with self._one:
            await asyncio.sleep(max(0.0, self._next - time.monotonic()))
            began = time.monotonic()
            try:
                now = self._domain.clock.now()
                return now, await self._foreseen(prospect(), now)
            finally:
                ended = time.monotonic()
                self._next = ended + (ended - began)

    async def _foreseen(self, job: ClusterJob, now: int) -> int | None:
        forecast = foresee_with(cast(Playable, self._domain.scheduler), job, now)
        async with aclosing(in_slices(forecast)) as starts:
            async for foreseen in starts:
                if foreseen.job == job.id:
                    return foreseen.at
        return None
