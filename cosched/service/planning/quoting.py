"""When a job would start that is not submitted: a copy of the scheduler with this job is played on."""

from __future__ import annotations

from typing import cast

import grpc

from cosched.core.scheduling.forecast import Playable, foresee_with
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.plans import in_slices
from cosched.service.wire.errors import Refusal


async def quoted(domain: LiveDomain, job: ClusterJob, now: int) -> int | None:
    """Return when the job would start if it were submitted now and nobody else came; None: that cannot be foreseen.

    Refusal: the scheduler cannot be played on.
    """
    if not domain.kind.capabilities.estimates:
        said = f"{domain.kind.title} does not foresee when jobs start"
        raise Refusal(grpc.StatusCode.UNIMPLEMENTED, "NO_QUOTES", said)
    async for foreseen in in_slices(foresee_with(cast(Playable, domain.scheduler), job, now)):
        if foreseen.job == job.id:
            return foreseen.at
    return None
