"""What a Grid Engine cluster alone does: arrays, and an execd that is killed under a hold."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from cosched_adapters.batch_system import Refused

from cosched.conformance.adapters.worlds import becomes, serving
from cosched.core.protocol import MateProblem, named_mate
from deploy.gridengine.lab import is_installed
from tests.conformance.worlds import GridEngineSite, RealGridEngine

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def world() -> Iterator[RealGridEngine]:
    if not is_installed():
        pytest.skip("Grid Engine is not installed here, or we are not root")
    with GridEngineSite() as cluster:
        yield RealGridEngine(cluster)


async def test_an_array_that_names_a_mate_starts_alone_and_both_sides_are_told(world: RealGridEngine) -> None:
    async with serving(world) as service:
        job = await asyncio.to_thread(world.cluster.qsub, "sleep 600", "-t", "1-2", "-ac", "pair=p")
        await becomes(world, job, "running")
        (refused,) = [report for report in service.reports if report.job_id == job]
        assert isinstance(refused, Refused)
        assert (refused.named, refused.problem) == (named_mate("", "p"), MateProblem.ARRAY)
        await world.delete(job)
        await becomes(world, job, "ended")
        await service.manager.look()
        await service.told(job, "Refused", "Gone")


async def test_a_hold_outlives_the_execd(world: RealGridEngine) -> None:
    async with serving(world, poll_interval=1) as service:
        job = await world.submit()
        await service.told(job, "Offered")
        await asyncio.to_thread(world.cluster.kill_execd)
        await service.manager.look()
        await asyncio.to_thread(world.cluster.start_execd)
        await service.manager.look()
        assert service.of(job) == ["Appeared", "Offered"]
        assert await service.manager.start(job)
        await becomes(world, job, "running")
