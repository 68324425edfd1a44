"""What whoever schedules expects of the jobs that wait: when they start, and their places in the queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from cosched.core.protocol import JobId
from cosched.core.scheduling.forecast import Forecast, Foreseen, Playable
from cosched.service.domain.live_domain import LiveDomain

SLICE = 0.005  # seconds of foreseeing before other work gets its turn
MOST = 1.0  # second of it in all: of a very long queue only the first starts are known
OUR_PLAN, BATCH_SYSTEMS, SLOT, HAS_NODES = 1, 2, 3, 4  # cosched.v1.EstimateSource


class ChosenSize(NamedTuple):
    """So many nodes were chosen for a job, or will be; why, for people."""

    nodes: int
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Instants are seconds of the service's own time; unknown jobs are missing."""

    made_at: int = 0
    source: int = OUR_PLAN
    starts: Mapping[JobId, int] = field(default_factory=dict)
    places: Mapping[JobId, tuple[int, int]] = field(default_factory=dict)  # in the queue, from 1; how many are there
    words: Mapping[JobId, str] = field(default_factory=dict)  # why a batch system lets them wait, in its own words
    sizes: Mapping[JobId, ChosenSize] = field(default_factory=dict)  # on which they start, if these are chosen


Planner = Callable[[], Awaitable[Plan]]


async def no_plan() -> Plan:
    """Return a plan that knows nothing."""
    return Plan()


async def planned(domain: LiveDomain) -> Plan:
    """Return the plan of our scheduler, by turns with the other work of this service."""
    now = domain.clock.now()
    if not domain.kind.capabilities.estimates:
        return Plan(now, places=_places(domain.scheduler.in_order(now)))
    foreseen = Forecast(cast(Playable, domain.scheduler), now)
    starts, sizes = dict[JobId, int](), dict[JobId, ChosenSize]()
    async for job, at, nodes in in_slices(foreseen):
        starts[job] = at
        if why := domain.kind.sized(foreseen.played.job(job)):
            sizes[job] = ChosenSize(nodes, why)
    return Plan(now, OUR_PLAN, starts, _places(foreseen.order), sizes=sizes)


async def in_slices(forecast: Forecast) -> AsyncGenerator[Foreseen, None]:
    """Yield the starts that can be foreseen in a while, by turns with the other work of this service."""
    spent, since = 0.0, time.monotonic()
    for foreseen in forecast.starts():
        yield foreseen
        if (took := time.monotonic() - since) >= SLICE:
            spent += took
            if spent >= MOST:
                return
            await asyncio.sleep(0)
            since = time.monotonic()


def _places(order: Sequence[JobId]) -> Mapping[JobId, tuple[int, int]]:
    return {job: (place, len(order)) for place, job in enumerate(order, 1)}
