"""Slots by the calls of a Slurm manager: it takes them away when their jobs were let go, have yielded or have ended."""

import asyncio
import time

import pytest

from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import SlotOnRecord
from tests.slurm.managed import Managed, Place, places
from tests.slurm.test_slots import AHEAD, LATER, PATIENCE, PLENTY, crowded, left_over, queued

made, place = places(nodes=4)


async def nothing_left(managed: Managed) -> None:
    """Wait until no reservation of ours is there."""
    async with asyncio.timeout(PATIENCE):
        while await left_over(managed):
            await asyncio.sleep(0.2)


@pytest.mark.soak
async def test_a_wanted_job_that_is_let_go_leaves_its_reservation(place: Place) -> None:
    async with Managed(*place, try_patience=PATIENCE) as slurm:
        _, k = await crowded(slurm)
        assert (await slurm.manager.start_wanted(k.job_id, PLENTY, {}, ())).offer
        assert await slurm.manager.start(k.job_id)
        await nothing_left(slurm)
        await slurm.wait_for_state(k.job_id, "COMPLETED")
        assert slurm.offers == []


@pytest.mark.soak
async def test_a_wanted_job_that_yields_leaves_its_reservation(place: Place) -> None:
    async with Managed(*place, try_patience=PATIENCE) as slurm:
        _, k = await crowded(slurm)
        assert (await slurm.manager.start_wanted(k.job_id, PLENTY, {}, ())).offer
        assert await slurm.manager.give_back(k.job_id, 1000)
        assert await left_over(slurm) == []
        assert k.phase is Phase.QUEUED


async def test_a_slot_is_claimed_and_goes_with_the_start(place: Place) -> None:
    async with Managed(*place, try_patience=PATIENCE) as slurm:
        job = await queued(slurm, LATER, "--nodes=4", "--time=1")
        at = int(time.time()) + AHEAD
        assert await slurm.manager.quote(job.job_id, at, (), keep=False) == at
        assert await slurm.manager.book(job.job_id, 1, at, ())
        await asyncio.sleep(max(0, at - time.time()))
        assert await slurm.manager.claim(job.job_id)
        assert len(await left_over(slurm)) == 2  # until it is let go
        assert await slurm.manager.start(job.job_id)
        await nothing_left(slurm)


@pytest.mark.soak
async def test_a_slot_goes_with_its_job(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await queued(slurm, LATER, "--time=1")
        assert await slurm.manager.book(job.job_id, 1, int(time.time()) + 1000, ())
        await slurm.manager.cancel(job.job_id)
        await slurm.manager.look()
        await nothing_left(slurm)


@pytest.mark.soak
async def test_a_new_service_takes_up_the_slots_that_are_on_record(place: Place) -> None:
    async with Managed(*place) as slurm:
        kept, lost = await queued(slurm, LATER, "--time=1"), await queued(slurm, LATER, "--time=1")
        at = int(time.time()) + 1000
        for job in (kept, lost):
            assert await slurm.manager.book(job.job_id, 1, at, ())
    async with Managed(*place) as slurm:
        await slurm.manager.take_up_slots({kept.job_id: SlotOnRecord(at, 1)})
        assert (await left_over(slurm))[1:] == [kept.job_id]
        await slurm.manager.unbook(kept.job_id)
        assert await left_over(slurm) == []
