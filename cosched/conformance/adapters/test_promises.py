"""What a batch system promises: see `cosched_adapters.batch_system`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from cosched.conformance.adapters.reporting import Reporting, until
from cosched.conformance.adapters.worlds import NODES, World, becomes, serving
from cosched.core.protocol import Named, named_group, named_mate
from cosched_adapters.batch_system import Appeared, BatchSystem, LoneJob, Offered
from cosched_adapters.manager import End, ManagerError, UnknownJobError

pytestmark = pytest.mark.asyncio
SHORT = 0.2  # seconds that a job runs
SETTLED = 1.0  # seconds after which an offer's nodes are kept by more than the hook's word
OTHER = named_mate("eureka", mate="17")
SAID = ((False, False), (True, False), (True, True))  # whether a job may be adopted, and is held


@asynccontextmanager
async def offering(
    world: World, *, nodes: int = 2, seconds: float = 600.0, account: str = "", **settings: object
) -> AsyncIterator[tuple[Reporting[BatchSystem], str]]:
    """Return a service's view, and a job with a mate that is offered; `settings`: see `serving`."""
    async with serving(world, **settings) as service:
        job = await world.submit(nodes=nodes, seconds=seconds, account=account)
        await service.told(job, "Offered")
        yield service, job


async def fill(world: World) -> None:
    """Let a job without a mate run on all nodes."""
    await becomes(world, await world.submit(nodes=NODES, pair=None), "running")


async def test_a_job_that_names_no_mate_starts_by_itself_and_is_not_reported(world: World) -> None:
    async with serving(world) as service:
        job = await world.submit(seconds=SHORT, pair=None)
        await becomes(world, job, "ended")
        assert service.of(job) == []


async def test_a_job_appears_and_is_offered_with_its_nodes(world: World) -> None:
    async with serving(world) as service:
        job = await world.submit(nodes=3)
        await service.told(job, "Appeared", "Offered")
        appeared, offered = service.reports
        assert isinstance(appeared, Appeared)
        assert isinstance(offered, Offered)
        assert (appeared.named, appeared.nodes) == (named_mate("", "p"), 3)
        assert (offered.named, offered.nodes, offered.owner) == (named_mate("", "p"), 3, appeared.owner)
        assert offered.nodelist
        assert service.manager.nodes == NODES


async def test_a_job_is_offered_with_the_account_that_it_is_charged_to(world: World) -> None:
    async with offering(world, account="climate") as (service, job):
        assert service.last(job).account == "climate"


async def test_places_in_the_queue_are_told_where_the_order_is_known(world: World) -> None:
    async with serving(world) as service:
        await fill(world)
        jobs = [await world.submit(nodes=NODES, pair=pair) for pair in ("p", None, "r")]
        assert await service.manager.look()
        told = service.manager.outlooks()
        places = [(told[job].place, told[job].queued) for job in (jobs[0], jobs[2]) if job in told and told[job].place]
        assert places in ([], [(1, 3), (3, 3)])


async def test_an_offered_job_waits_on_its_nodes_and_others_run_beside_it(world: World) -> None:
    async with serving(world) as service:
        job = await world.submit(nodes=2)
        await service.told(job, "Appeared", "Offered")
        beside = await world.submit(nodes=2, seconds=SHORT, pair=None)
        await becomes(world, beside, "ended")
        after = await world.submit(nodes=3, seconds=SHORT, pair=None)
        await service.manager.look()
        assert await world.state(job) == "queued"
        assert await world.state(after) == "queued"


async def test_it_starts_by_our_word(world: World) -> None:
    async with offering(world, seconds=SHORT) as (service, job):
        assert await service.manager.start(job)
        await service.told(job, "Ended")
        end = service.last(job)
        assert (end.how, end.exit_code) == (End.EXITED, 0)
        assert not await service.manager.start(job)


async def test_it_starts_at_an_instant_and_not_before(world: World) -> None:
    async with offering(world) as (service, job):
        lead = service.manager.start_lead
        at = time.time() + 1 + lead
        assert await service.manager.start(job, at)
        await service.told(job, "Started")
        assert service.last(job).at >= (at - lead - 0.01) * 1e9


async def test_what_is_not_offered_cannot_be_started(world: World) -> None:
    async with serving(world) as service:
        await fill(world)
        job = await world.submit()
        await service.manager.look()
        await service.told(job, "Appeared")
        assert not await service.manager.start(job)
        assert not await service.manager.give_back(job)
        assert not await service.manager.start("4711")


async def test_a_job_that_yields_lets_the_next_one_run_and_comes_again(world: World) -> None:
    async with offering(world, nodes=NODES, backoff=1) as (service, job):
        other = await world.submit(nodes=NODES, seconds=SHORT, pair=None)
        assert await service.manager.give_back(job)
        await becomes(world, other, "running", "ended")
        await service.told(job, "Offered", "Offered")


async def test_a_job_that_has_yielded_is_not_offered_before_its_time_unless_hastened(world: World) -> None:
    async with offering(world, backoff=3600) as (service, job):
        assert await service.manager.give_back(job)
        await service.manager.look()
        assert service.of(job) == ["Appeared", "Offered"]
        await service.manager.hasten(job)
        await service.told(job, "Offered", "Offered")


async def test_a_hold_that_ends_by_force_lets_others_go_first(world: World) -> None:
    async with offering(world, nodes=NODES, backoff=3600) as (service, job):
        other = await world.submit(nodes=NODES, seconds=SHORT, pair=None)
        assert await service.manager.release(job)
        await becomes(world, other, "running", "ended")
        await service.told(job, "Offered", "Offered")


async def test_an_order_for_an_earlier_offer_changes_nothing(world: World) -> None:
    async with offering(world, nodes=NODES, backoff=1) as (service, job):
        first = service.last(job).number
        assert await service.manager.give_back(job, offer=first)
        await service.told(job, "Offered", "Offered")
        assert 0 < first != service.last(job).number
        for late in (0, first):
            assert not await service.manager.give_back(job, offer=late)
            assert not await service.manager.release(job, late)
        other = await world.submit(nodes=NODES, seconds=SHORT, pair=None)
        await asyncio.sleep(SETTLED)
        await service.manager.look()
        assert [await world.state(each) for each in (job, other)] == ["queued", "queued"]
        assert await service.manager.release(job, service.last(job).number)
        await becomes(world, other, "running", "ended")


async def test_a_try_tells_the_number_of_the_offer(world: World) -> None:
    async with offering(world, backoff=3600) as (service, job):
        first = service.last(job).number
        assert await service.manager.try_start(job, 0.3) == first
        assert await service.manager.give_back(job, offer=first)
        second = await service.manager.try_start(job, 120)
        assert second not in (0, first)
        assert not await service.manager.give_back(job, offer=first)
        assert await service.manager.give_back(job, offer=second)


async def test_a_try_ends_with_its_patience(world: World) -> None:
    async with serving(world) as service:
        await fill(world)
        job = await world.submit()
        await service.manager.look()
        assert not await service.manager.try_start(job, 0.3)
        assert service.of(job) == ["Appeared"]


async def test_a_try_that_succeeds_is_not_reported_as_an_offer(world: World) -> None:
    async with offering(world, backoff=3600) as (service, job):
        assert await service.manager.give_back(job)
        assert await service.manager.try_start(job, 120)
        assert service.of(job) == ["Appeared", "Offered"]
        assert await service.manager.start(job)
        await becomes(world, job, "running")


@pytest.mark.parametrize("by", ["its user", "us"])
@pytest.mark.parametrize("state", ["queued", "offered", "running"])
async def test_a_job_may_be_cancelled_in_each_state(world: World, state: str, by: str) -> None:
    async with serving(world) as service:
        if state == "queued":
            await fill(world)
        job = await world.submit()
        await service.manager.look()
        await service.told(job, *{"queued": ["Appeared"]}.get(state, ["Appeared", "Offered"]))
        if state == "running":
            assert await service.manager.start(job)
            await becomes(world, job, "running")
        await (world.delete(job) if by == "its user" else service.manager.cancel(job))
        await service.manager.look()
        await service.told(job, "Ended")
        assert service.last(job).how in (End.CANCELLED, End.SIGNALLED)
        await service.manager.cancel(job)


async def test_a_job_that_takes_the_place_of_one_that_its_user_has_deleted_appears_after_its_end(world: World) -> None:
    """Otherwise it would have no mate: that is the first one's."""
    async with serving(world) as service:
        first = await world.submit()
        await service.told(first, "Offered")
        await service.manager.look()
        await world.delete(first)
        second = await world.submit()
        await service.told(second, "Appeared", "Offered")
        kinds = [(type(report).__name__, report.job_id) for report in service.reports]
        assert kinds.index(("Ended", first)) < kinds.index(("Appeared", second))


async def test_the_next_service_goes_on_with_an_offered_job(world: World) -> None:
    async with offering(world) as (_, job):
        pass
    async with serving(world) as second:
        assert not second.found[job].running
        await second.told(job, "Offered")
        assert await second.manager.start(job)
        await becomes(world, job, "running")


async def test_the_next_service_finds_what_runs_and_what_has_ended(world: World) -> None:
    async with serving(world) as first:
        runs, ends = await world.submit(), await world.submit(seconds=SHORT)
        await first.told(runs, "Offered")
        await first.told(ends, "Offered")
        assert await first.manager.start(runs)
        assert await first.manager.start(ends)
        await becomes(world, runs, "running")
    await becomes(world, ends, "ended")
    async with serving(world) as second:
        assert second.found[runs].running
        end = second.found[ends].end
        assert end is not None
        assert end.how is End.EXITED


async def test_a_running_job_that_is_queued_again_is_withdrawn(world: World) -> None:
    async with offering(world) as (service, job):
        assert await service.manager.start(job)
        await becomes(world, job, "running")
        await service.manager.look()
        await world.requeue(job)
        await service.manager.look()
        await service.told(job, "Withdrawn", "Offered")


async def test_a_running_job_is_queued_again_by_our_order_which_may_be_repeated(world: World) -> None:
    async with offering(world) as (service, job):
        assert await service.manager.start(job)
        await becomes(world, job, "running")
        await service.manager.look()
        await service.manager.requeue(job)
        await service.manager.look()
        await service.told(job, "Withdrawn", "Offered")
        await service.manager.requeue(job)
        await service.manager.look()
        assert service.of(job)[-2:] == ["Withdrawn", "Offered"]
        assert await service.manager.start(job)


async def test_a_job_that_loses_nodes_that_are_kept_for_it_is_withdrawn_and_offered_again(world: World) -> None:
    async with offering(world, poll_interval=1) as (service, job):
        await asyncio.sleep(SETTLED)
        try:
            await world.lose_nodes(job)
        except NotImplementedError:
            pytest.skip("the nodes of this batch system cannot break")
        await until(lambda: "Withdrawn" in service.of(job), lambda: f"Withdrawn, not {service.of(job)}")
        await world.mend_nodes()
        await service.told(job, "Offered")
        assert await service.manager.start(job)
        await becomes(world, job, "running")


async def test_an_offer_is_reported_once_however_often_the_system_asks(world: World) -> None:
    async with offering(world) as (service, job):
        for _ in range(3):
            await becomes(world, await world.submit(seconds=SHORT, pair=None), "ended")
            await service.manager.look()
        assert service.of(job) == ["Appeared", "Offered"]
        assert await service.manager.start(job)
        await becomes(world, job, "running")


async def test_a_job_that_comes_while_the_service_is_away_waits_for_the_next_one(world: World) -> None:
    async with serving(world):
        pass
    job = await world.submit()
    async with serving(world) as service:
        await service.told(job, "Offered")
        assert await world.state(job) == "queued"
        assert await service.manager.start(job)
        await becomes(world, job, "running")


@pytest.mark.parametrize("other", [OTHER, named_group("g", ("eureka", "polaris"))], ids=["mate", "group"])
async def test_a_job_without_a_mate_is_given_one_and_parted_from_it(world: World, other: Named) -> None:
    async with serving(world) as service:
        await fill(world)
        job = await world.submit(pair=None)
        mate = await world.submit()
        await service.manager.look()
        await service.told(mate, "Appeared")
        assert not await service.manager.adopt(job, other, lambda _: False)
        assert service.of(job) == []
        assert await service.manager.adopt(job, other, lambda _: True)
        await service.told(job, "Appeared")
        if other == OTHER:  # a job stays in its group
            await service.manager.relink(job, named_mate("eureka", mate="18"))
        await service.manager.part(job)
        await service.manager.look()
        assert service.of(job) == ["Appeared"]


async def test_orders_about_jobs_that_nobody_knows(world: World) -> None:
    async with serving(world) as service:
        for order in (service.manager.give_back, service.manager.release, service.manager.cancel):
            with pytest.raises(UnknownJobError):
                await order("4711")
        with pytest.raises(UnknownJobError):
            await service.manager.try_start("4711")


async def test_a_job_is_given_a_mate_if_what_it_says_of_itself_allows_that(world: World) -> None:
    async with serving(world) as service:
        await fill(world)
        lone = [await world.submit(pair=None, adoptable=adoptable, held=held) for adoptable, held in SAID]
        mate = await world.submit()
        await service.manager.look()
        await service.told(mate, "Appeared")
        owner = next(report.owner for report in service.reports if isinstance(report, Appeared))
        found: list[LoneJob] = []
        for job in lone:
            assert not await service.manager.adopt(job, OTHER, lambda of: bool(found.append(of)))
        assert found == [LoneJob(owner, adoptable, held) for adoptable, held in SAID]
        assert await service.manager.adopt(lone[1], OTHER, lambda of: of.adoptable)
        await service.told(lone[1], "Appeared")
        assert service.last(lone[1]).named == OTHER


async def kill(world: World, job: str) -> None:
    try:
        await world.kill(job)
    except NotImplementedError:
        pytest.skip("this batch system has no process of its own")


async def test_a_hold_outlives_the_batch_system(world: World) -> None:
    async with offering(world) as (service, job):
        await kill(world, job)
        assert not await service.manager.look()
        await world.revive()
        await start_in_the_end(world, service, job)


async def test_a_start_that_is_ordered_while_the_system_is_away_comes_when_it_is_back(world: World) -> None:
    async with offering(world) as (service, job):
        await kill(world, job)
        starting = asyncio.create_task(service.manager.start(job))
        await asyncio.sleep(0.5)
        await world.revive()
        if not await starting:
            await start_in_the_end(world, service, job)
        await becomes(world, job, "running")


async def test_an_order_to_cancel_while_the_system_is_away_fails_or_is_carried_out(world: World) -> None:
    async with offering(world) as (service, job):
        await kill(world, job)
        with suppress(ManagerError):
            await service.manager.cancel(job)
        await world.revive()
        with suppress(UnknownJobError):
            await service.manager.cancel(job)
        await becomes(world, job, "ended")


async def start_in_the_end(world: World, service: Reporting[BatchSystem], job: str) -> None:
    """Start a job, which is perhaps offered once more."""
    while job not in service.found and not await service.manager.start(job):
        await service.manager.look()
    await becomes(world, job, "running")
