"""Slots on a real cluster: reservations are booked, moved, claimed, and leave nothing behind."""

import asyncio
import time
from fractions import Fraction

import pytest

from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import SlotOnRecord
from cosched_adapters.slurm.batch_job import BatchJob
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.reservations import Fault, ReservationError, new_name, whose
from cosched_adapters.slurm.slots import REFUSED, Slots
from tests.slurm.managed import Managed, Place, places

AHEAD = 8  # seconds from now to a slot: more than booking it takes on a busy host
LATER = "--begin=now+1hour"  # so Slurm leaves the job alone until it is booked
PATIENCE = 60.0
PLENTY = Fraction(1000)
made, place = places(nodes=4)


def slurm_of(managed: Managed) -> Slurm:
    return managed.manager._slurm


def slots_of(managed: Managed) -> Slots:
    return Slots(slurm_of(managed), managed.manager._sequences)


async def queued(managed: Managed, *options: str) -> BatchJob:
    """A job that waits, once the manager knows it."""
    job_id = await managed.submit("true", *options)
    assert await managed.manager.look()
    job = managed.known[job_id]
    if LATER in options:
        job.kept_back = job.eligible  # as if it had yielded: what its user delays gets no slot
    return job


async def left_over(managed: Managed) -> list[str]:
    """Our reservations, and the jobs that are in any."""
    names = [found.name for found in await slurm_of(managed).reservations() if whose(found.name)]
    inside = await slurm_of(managed).jobs_inside()
    return [*names, *(job for jobs in inside.values() for job in jobs)]


async def starts_at_slot(managed: Managed, slots: Slots, job: BatchJob) -> None:
    """The slot has come: the job is offered, runs, and leaves no reservation."""
    assert await slots.claim(job, PATIENCE)
    await slots.unbook(job.job_id)
    assert await left_over(managed) == []
    assert await managed.manager.start(job.job_id)
    await managed.wait_for_state(job.job_id, "COMPLETED")


async def crowded(managed: Managed) -> tuple[BatchJob, BatchJob]:
    """Three of four nodes run; the first job wants all, and the second, which would delay it, one."""
    filler = await asyncio.to_thread(managed.cluster.sbatch, "sleep 1000", "--nodes=3", "--time=5")
    await asyncio.to_thread(managed.cluster.wait_for_state, filler, "RUNNING")
    return await queued(managed, "--nodes=4", "--time=5"), await queued(managed, "--nodes=1", "--time=30")


async def test_a_wanted_job_starts_before_its_turn_and_its_reservation_goes(place: Place) -> None:
    async with Managed(*place) as slurm:
        h, k = await crowded(slurm)
        slots, guards = slots_of(slurm), dict[str, int]()
        started = await slots.start_wanted(k, PLENTY, guards, (), PATIENCE)
        assert started.offer
        assert started.pushed is not None
        assert started.pushed > 0
        assert k.phase is Phase.OFFERED
        assert list(guards) == [h.job_id]
        assert await slurm.manager.start(k.job_id)
        await slots.unbook(k.job_id)
        assert await left_over(slurm) == []
        assert (await slurm.wait_for_state(k.job_id, "COMPLETED")).restarts == 0
        assert h.phase is Phase.QUEUED


@pytest.mark.soak
async def test_a_wanted_job_that_would_cost_the_first_one_too_much_is_refused_without_a_command(place: Place) -> None:
    async with Managed(*place) as slurm:
        _, k = await crowded(slurm)
        guards = dict[str, int]()
        assert await slots_of(slurm).start_wanted(k, Fraction(0), guards, (), PATIENCE) == REFUSED
        assert (guards, k.phase, await left_over(slurm)) == ({}, Phase.QUEUED, [])


async def test_a_job_is_offered_at_its_slot_and_not_before(place: Place) -> None:
    async with Managed(*place) as slurm:
        slots, job = slots_of(slurm), await queued(slurm, LATER, "--nodes=4", "--time=1")
        now = int(time.time())
        assert await slots.quote(job, now + AHEAD, ()) == now + AHEAD
        assert await slots.book(job, 1, now + AHEAD, ())
        await asyncio.sleep(now + AHEAD - 1 - time.time())
        assert job.phase is Phase.QUEUED
        await asyncio.sleep(max(0, now + AHEAD - time.time()))
        await starts_at_slot(slurm, slots, job)


@pytest.mark.soak
async def test_a_slot_that_stands_in_its_own_way_is_replaced(place: Place) -> None:
    async with Managed(*place) as slurm:
        slots, job = slots_of(slurm), await queued(slurm, LATER, "--nodes=4", "--time=1")
        now = int(time.time())
        assert await slots.book(job, 1, now + 60, ())
        assert await slots.book(job, 2, now + 30, ())
        (found,) = await slurm_of(slurm).reservations()
        assert (found.start, await slurm_of(slurm).jobs_inside()) == (now + 30, {found.name: [job.job_id]})
        assert whose(found.name) == (job.job_id, 2)
        slot = slots.of(job.job_id)
        assert slot is not None
        assert (slot.name, slot.at) == (found.name, now + 30)
        await slots.unbook(job.job_id)
        assert await left_over(slurm) == []


@pytest.mark.soak  # it waits for its slot, as the test after next does
async def test_an_offered_job_books_a_later_slot_and_is_in_it_once_it_yields(place: Place) -> None:
    async with Managed(*place) as slurm:
        job_id = await slurm.hold("true", "--nodes=3", "--time=1")
        slots, job = slots_of(slurm), slurm.known[job_id]
        at = int(time.time()) + 2 * AHEAD
        assert await slots.book(job, 1, at, ())
        assert job.phase is Phase.OFFERED
        assert await slurm.manager.give_back(job_id, 1000)
        (found,) = await slurm_of(slurm).reservations()
        assert (found.start, await slurm_of(slurm).jobs_inside()) == (at, {found.name: [job_id]})
        assert not await slots.claim(job, 0.1)  # it has not come yet
        await asyncio.sleep(max(0, at - time.time()))
        assert await slots.claim(job, PATIENCE)
        assert slots.of(job_id) is not None
        await slots.unbook(job_id)
        assert await left_over(slurm) == []
        assert await slurm.manager.start(job_id)
        await slurm.wait_for_state(job_id, "COMPLETED")


@pytest.mark.soak
async def test_an_earlier_slot_is_kept_free_while_it_is_agreed_on(place: Place) -> None:
    async with Managed(*place) as slurm:
        slots = slots_of(slurm)
        job, other = await queued(slurm, LATER, "--nodes=4", "--time=1"), await queued(slurm, LATER, "--time=1")
        now = int(time.time())
        assert await slots.quote(job, now + 100, (), keep=True) == now + 100
        assert await left_over(slurm) == []  # it has no slot that it could lose
        assert await slots.book(job, 1, now + 1000, ())
        assert await slots.quote(job, now + 100, (), keep=True) == now + 100
        assert len(await slurm_of(slurm).reservations()) == 2
        assert not await slots.book(other, 1, now + 100, ())
        assert await slots.book(job, 2, now + 100, ())
        assert [found.start for found in await slurm_of(slurm).reservations()] == [now + 100]
        assert await slots.quote(job, now + 50, (), keep=True) == now + 50
        await slots.drop_quote(job.job_id)
        assert [found.start for found in await slurm_of(slurm).reservations()] == [now + 100]
        await slots.unbook(job.job_id)
        assert await left_over(slurm) == []


@pytest.mark.soak
async def test_a_job_that_its_user_delays_gets_no_slot_and_is_not_started(place: Place) -> None:
    async with Managed(*place) as slurm:
        slots, job = slots_of(slurm), await queued(slurm, "--begin=now+2hours", "--time=1")
        at = int(time.time()) + 1000
        assert await slots.quote(job, at, ()) is None
        assert not await slots.book(job, 1, at, ())
        assert await slots.start_wanted(job, PLENTY, {}, (), 1) == REFUSED


@pytest.mark.soak
async def test_a_slot_that_slurm_has_lost_begins_when_it_is_claimed(place: Place) -> None:
    async with Managed(*place) as slurm:
        slots, job = slots_of(slurm), await queued(slurm, "--nodes=4", "--time=1", "--hold")
        await slurm.scontrol("release", job.job_id)
        now = int(time.time())
        assert await slots.book(job, 1, now + 1000, ())
        slot = slots.of(job.job_id)
        assert slot is not None
        await slurm_of(slurm).take_out(job.job_id)
        await slurm_of(slurm).delete_reservation(slot.name)
        while not await slots.claim(job, 1):  # the first one finds out
            pass
        await slots.unbook(job.job_id)
        assert await left_over(slurm) == []


@pytest.mark.soak
async def test_a_new_service_puts_jobs_into_their_slots_again_and_books_those_that_are_gone(place: Place) -> None:
    async with Managed(*place) as slurm:
        outside, gone = await queued(slurm, "--nodes=4", "--time=1"), await queued(slurm, "--nodes=4", "--time=1")
        before, now = slots_of(slurm), int(time.time())
        assert await before.book(outside, 1, now + 1000, ())
        await slurm_of(slurm).take_out(outside.job_id)
        after = slots_of(slurm)
        slots = {outside.job_id: SlotOnRecord(now + 1000, 1), gone.job_id: SlotOnRecord(now + 2000, 3)}
        assert await after.take_up(slots, slurm.known) == []
        found = {whose(found.name): found for found in await slurm_of(slurm).reservations()}
        assert {owner: each.start for owner, each in found.items()} == {
            (outside.job_id, 1): now + 1000,
            (gone.job_id, 3): now + 2000,
        }
        expected = {each.name: [owner[0]] for owner, each in found.items() if owner}
        assert await slurm_of(slurm).jobs_inside() == expected
        await after.take_up({}, {})


@pytest.mark.soak
async def test_what_cannot_be_booked_leaves_what_there_was(place: Place) -> None:
    async with Managed(*place) as slurm:
        slots, job = slots_of(slurm), await queued(slurm, LATER, "--nodes=4", "--time=1")
        now, name = int(time.time()), new_name("999", 1)
        await slurm_of(slurm).reserve(name, job.owner, slurm.cluster.nodes, now + 100, now + 200)
        assert not await slots.book(job, 1, now + 100, ())
        with pytest.raises(ReservationError) as raised:
            await slurm_of(slurm).reserve(new_name("998", 1), job.owner, slurm.cluster.nodes[:1], now + 150, now + 300)
        assert raised.value.fault is Fault.OVERLAPS
        assert await left_over(slurm) == [name]
        await slurm_of(slurm).delete_reservation(name)


@pytest.mark.soak
async def test_a_service_that_was_killed_keeps_its_slots_and_removes_all_else_of_ours(place: Place) -> None:
    async with Managed(*place) as slurm:
        kept, lost = await queued(slurm, LATER, "--time=1"), await queued(slurm, LATER, "--time=1")
        before, now = slots_of(slurm), int(time.time())
        for job in (kept, lost):
            assert await before.book(job, 1, now + 1000, ())
        theirs, empty = "maintenance", new_name(kept.job_id, 7)
        for name, node in ((theirs, 3), (empty, 2)):
            await slurm_of(slurm).reserve(name, "root", [slurm.cluster.nodes[node]], now + 2000, now + 3000)

        after = slots_of(slurm)
        assert len(await after.take_up({kept.job_id: SlotOnRecord(now + 1000, 1)}, slurm.known)) == 2
        slot = before.of(kept.job_id)
        assert slot is not None
        assert after.of(kept.job_id) == slot
        assert {found.name for found in await slurm_of(slurm).reservations()} == {theirs, slot.name}
        assert await slurm_of(slurm).jobs_inside() == {slot.name: [kept.job_id]}
        assert await slots_of(slurm).take_up({}, {}) == [slot.name]
        await slurm_of(slurm).delete_reservation(theirs)


@pytest.mark.soak
@pytest.mark.parametrize("saved", [True, False])
async def test_a_slot_outlives_a_slurmctld_that_is_killed_or_leaves_no_trace(place: Place, saved: bool) -> None:
    """Slurm may have lost the reservation, and may start the job without it, or only that the job is in it."""
    async with Managed(*place) as slurm:
        slots, job = slots_of(slurm), await queued(slurm, LATER, "--nodes=4", "--time=1")
        await asyncio.to_thread(slurm.cluster.wait_until_saved, int(job.job_id))
        now = int(time.time())
        assert await slots.book(job, 1, now + 2 * AHEAD, ())
        if saved:
            await asyncio.to_thread(slurm.cluster.wait_until_saved, int(job.job_id))
        await asyncio.to_thread(slurm.cluster.kill_controller)
        await asyncio.to_thread(slurm.cluster.start_controller)
        await asyncio.to_thread(slurm.cluster.wait_for_nodes)
        await asyncio.sleep(max(0, now + 2 * AHEAD - time.time()))
        assert await slots.claim(job, PATIENCE) == job.offered_as
        await slots.unbook(job.job_id)
        assert await left_over(slurm) == []


@pytest.mark.soak
async def test_a_slot_is_taken_away_when_slurmctld_answers_again(place: Place) -> None:
    async with Managed(*place) as slurm:
        slots, job = slots_of(slurm), await queued(slurm, LATER, "--time=1")
        now = int(time.time())
        assert await slots.book(job, 1, now + 1000, ())
        await asyncio.to_thread(slurm.cluster.wait_until_saved, int(job.job_id))
        await asyncio.to_thread(slurm.cluster.kill_controller)
        unbooked = asyncio.create_task(slots.unbook(job.job_id))
        await asyncio.sleep(1)
        assert not unbooked.done()
        await asyncio.to_thread(slurm.cluster.start_controller)
        await unbooked
        assert await left_over(slurm) == []
