"""What a Grid Engine cluster alone does: arrays, and a qmaster or execd that is killed under a hold or beside a job."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from cosched.conformance.adapters.reporting import until
from cosched.conformance.adapters.worlds import becomes, serving
from cosched.core.protocol import MateProblem, named_mate
from cosched_adapters.batch_system import Refused
from cosched_adapters.manager import End, Ended
from deploy.gridengine.lab import is_installed
from tests.conformance.worlds import RealGridEngine, gridengine_site

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def world() -> Iterator[RealGridEngine]:
    if not is_installed():
        pytest.skip("Grid Engine is not installed here, or we are not root")
    with gridengine_site() as cluster:
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


async def test_a_job_that_is_deleted_under_a_hold_while_the_execd_is_away_does_not_start(world: RealGridEngine) -> None:
    """Its prolog is let go before the execd has heard."""
    started = world.cluster.jobs / "started"
    async with serving(world, poll_interval=1) as service:
        job = await asyncio.to_thread(world.cluster.qsub, f"touch {started}", "-ac", "pair=p")
        await service.told(job, "Offered")
        status = world.cluster.spool_of(job) / "exit_status"  # empty until then
        await asyncio.to_thread(world.cluster.kill_execd)
        await world.delete(job)
        await asyncio.to_thread(world.cluster.wait_for, status.read_text, "the prolog's end")
        await asyncio.to_thread(world.cluster.start_execd)
        await service.told(job, "Ended")
        assert service.of(job) == ["Appeared", "Offered", "Ended"]
        assert not started.exists()


@pytest.mark.parametrize("deleted", [False, True])
async def test_the_end_of_a_job_that_outlives_its_execd_needs_no_rare_look(
    world: RealGridEngine, *, deleted: bool
) -> None:
    """The next execd has not started the job, and looks for its end once a minute."""
    async with serving(world, poll_interval=3600) as service:
        go = world.cluster.jobs / "go"
        job = await asyncio.to_thread(world.cluster.qsub, f"until [ -e {go} ]; do sleep 0.1; done", "-ac", "pair=p")
        await service.told(job, "Offered")
        assert await service.manager.start(job)
        await becomes(world, job, "running")
        await asyncio.to_thread(world.cluster.kill_execd)
        await world.delete(job) if deleted else go.touch()
        await asyncio.to_thread(world.cluster.start_execd)
        await service.told(job, "Ended")
        (end,) = [report for report in service.reports if isinstance(report, Ended)]
        assert end.how is (End.CANCELLED if deleted else End.EXITED)


async def test_a_job_that_was_given_back_has_not_started_though_its_execd_finds_that_late(
    world: RealGridEngine,
) -> None:
    """Its prolog has ended, but for up to a minute Grid Engine shows it as running, also to the next service."""
    async with serving(world, poll_interval=1) as service:
        job = await asyncio.to_thread(world.cluster.qsub, "sleep 600", "-ac", "pair=p")
        await service.told(job, "Offered")
        status = world.cluster.spool_of(job) / "exit_status"  # empty until then
        await asyncio.to_thread(world.cluster.kill_execd)
        await asyncio.to_thread(world.cluster.start_execd)
        giving = asyncio.create_task(service.manager.give_back(job, 1))
        await asyncio.to_thread(world.cluster.wait_for, status.read_text, "the prolog's end")
    giving.cancel()
    async with serving(world, poll_interval=1) as service:
        await until(lambda: "Offered" in service.of(job), lambda: f"the next offer of {job}")
        assert service.of(job) == ["Offered"]
        await world.delete(job)


async def test_a_job_that_was_given_back_is_offered_again_though_the_qmaster_was_killed(world: RealGridEngine) -> None:
    """Once a job has had slots, the qmaster saves neither a hold of it nor the end of the hold."""
    async with serving(world, poll_interval=1) as service:
        job = await world.submit()
        await service.told(job, "Offered")
        other = await world.submit(nodes=4, pair=None)
        assert await service.manager.give_back(job, 600)
        await becomes(world, other, "running")
        await service.manager.hasten(job)
        await world.kill(job)
        await world.revive()
        await world.delete(other)
        await until(lambda: service.of(job).count("Offered") == 2, lambda: f"the next offer of {job}")
        await world.delete(job)
