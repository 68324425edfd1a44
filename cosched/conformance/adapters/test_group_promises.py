"""What a batch system promises for members of groups: see `cosched_adapters.batch_system`.

A try answers a member's proposal, and its nodes are kept until the outcome is known.
"""

from __future__ import annotations

import asyncio

import pytest

from cosched.conformance.adapters.test_promises import SETTLED, SHORT
from cosched.conformance.adapters.worlds import NODES, World, becomes, serving
from cosched.core.protocol import named_group

pytestmark = pytest.mark.asyncio
OTHERS = ("eureka", "polaris")  # the other domains of a group


async def test_a_job_of_a_group_names_its_domains_also_to_the_next_service(world: World) -> None:
    group = named_group("g", OTHERS)
    async with serving(world) as service:
        job = await world.submit(pair="g", others=OTHERS)
        await service.told(job, "Appeared", "Offered")
        assert [report.named for report in service.reports] == [group, group]
    async with serving(world) as service:
        assert service.found[job].named == group


async def test_members_that_are_tried_at_the_same_time_are_both_offered(world: World) -> None:
    async with serving(world, backoff=3600) as service:
        members = [await world.submit(pair=name, others=OTHERS) for name in ("g", "h")]
        for member in members:
            await service.told(member, "Offered")
            assert await service.manager.give_back(member)
        assert all(await asyncio.gather(*(service.manager.try_start(member, 120) for member in members)))
        assert [await service.manager.start(member) for member in members] == [True, True]
        for member in members:
            await becomes(world, member, "running")


async def test_the_nodes_of_a_tried_member_are_kept_until_it_is_told_more(world: World) -> None:
    async with serving(world, backoff=1) as service:
        member = await world.submit(nodes=NODES, pair="g", others=OTHERS)
        await service.told(member, "Offered")
        assert await service.manager.give_back(member, 3600)
        assert await service.manager.try_start(member, 120)
        other = await world.submit(nodes=NODES, seconds=SHORT, pair=None)
        await asyncio.sleep(SETTLED)
        await service.manager.look()
        assert [await world.state(job) for job in (member, other)] == ["queued", "queued"]
        assert await service.manager.give_back(member, 3600)
        await becomes(world, other, "running", "ended")
        assert service.of(member) == ["Appeared", "Offered"]
        await becomes(world, other, "ended")
        assert await service.manager.try_start(member, 120)


async def test_the_next_service_goes_on_with_a_member_that_was_tried(world: World) -> None:
    async with serving(world, backoff=3600) as first:
        member = await world.submit(pair="g", others=OTHERS)
        await first.told(member, "Offered")
        assert await first.manager.give_back(member)
        assert await first.manager.try_start(member, 120)
        await asyncio.sleep(SETTLED)
    async with serving(world) as second:
        await second.told(member, "Offered")
        assert await second.manager.start(member)
        await becomes(world, member, "running")


async def test_a_job_finds_its_mates_by_variables(world: World) -> None:
    known = '[{"domain": "eureka", "job_id": "17", "host": null}]'
    async with serving(world) as service:
        job = await world.submit(pair="g", others=OTHERS)
        await service.told(job, "Offered")
        await service.manager.set_task_variables(job, {"COSCHED_MATES": known})
        assert await service.manager.start(job)
        await becomes(world, job, "running")
        try:
            told = await world.told(job, "COSCHED_MATES")
        except NotImplementedError:
            pytest.skip("tasks of this batch system are told otherwise, or not at all: they ask `cosched mates`")
        assert told == known
