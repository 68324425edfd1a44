"""The Slurm manager when parts of Slurm, or its service, fail; and many turns in a row."""

import asyncio
import time

import pytest

from cosched_adapters.batch_system import Offered, Withdrawn
from cosched_adapters.manager import Ended
from tests.slurm.cosched_hooks import site
from tests.slurm.managed import Managed, Place, places, rows
from tests.slurm.versions import config_of

SHORT_PATIENCE = 20  # seconds for which its hook waits for a service: more than any pause of ours
made, place = places(nodes=2, cpus=2)


@pytest.mark.soak
async def test_when_slurmctld_dies_held_jobs_are_offered_again_and_lost_starts_given_again(place: Place) -> None:
    async with Managed(*place, command_timeout=8) as slurm:
        held, starting = await slurm.hold(), await slurm.hold()
        await asyncio.to_thread(slurm.cluster.wait_until_saved, int(held))
        assert await slurm.manager.start(starting, time.time() + 9)  # longer than it takes to kill slurmctld
        await asyncio.to_thread(slurm.cluster.kill_controller)
        await slurm.wait_for(Withdrawn, held)
        assert not await slurm.manager.start(held)
        assert not await slurm.manager.look()
        await asyncio.to_thread(slurm.cluster.start_controller)
        await slurm.wait_for(Offered, held, times=2)
        assert await slurm.manager.start(held)
        for job in (held, starting):
            assert (await slurm.wait_for(Ended, job)).succeeded
        assert slurm.of(starting).count("Offered") == 1


async def test_a_turn_that_is_given_back_while_slurmctld_dies_is_given_back_in_the_end(place: Place) -> None:
    async with Managed(*place, command_timeout=8) as slurm:
        job = await slurm.hold()
        yielding = asyncio.create_task(slurm.manager.give_back(job, 900))
        await slurm.until(lambda: slurm.cluster.state(int(job)) == "PENDING", "the end of its turn")
        await asyncio.to_thread(slurm.cluster.stop_controller)
        await asyncio.to_thread(slurm.cluster.start_controller)
        assert await yielding
        await slurm.until(lambda: (rows(slurm.cluster, job)[0].eligible_at or 0) > time.time() + 600, "its backoff")
        assert slurm.of(job) == ["Appeared", "Offered"]


async def test_a_held_job_whose_node_goes_down_is_offered_again_on_another(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await slurm.hold()
        node = (await slurm.wait_for(Offered, job)).nodelist
        await asyncio.to_thread(slurm.cluster.down_node, node)
        try:
            await slurm.wait_for(Withdrawn, job)
            assert (await slurm.wait_for(Offered, job, times=2)).nodelist != node
            assert await slurm.manager.start(job)
            assert (await slurm.wait_for(Ended, job)).succeeded
        finally:
            await asyncio.to_thread(slurm.cluster.resume_node, node)


async def test_a_change_of_nice_would_free_a_job_that_is_held_by_its_user(place: Place) -> None:
    """Why a forced release does not lower the priority by nice for a moment."""
    if (await asyncio.to_thread(config_of, place[0]))["PriorityType"] != "priority/basic":
        pytest.skip("with priority/multifactor it stays held")
    async with Managed(*place) as slurm:
        job = await slurm.submit("true", "--hold")
        for nice in (2_000_000_000, 0):
            await slurm.scontrol("update", f"jobid={job}", f"nice={nice}")
        priority = await asyncio.to_thread(slurm.cluster.squeue, "-h", "-j", job, "-o", "%Q")
        assert int(priority) == 2_000_000_002


@pytest.mark.soak  # it waits for Slurm's own times
async def test_a_service_that_does_not_come_back_finds_the_jobs_running() -> None:
    with site(SHORT_PATIENCE) as hooks, hooks.lab(nodes=1) as lab:
        async with Managed(lab["intrepid"], hooks) as slurm:
            job = await slurm.hold("sleep 600")
        await slurm.wait_for_state(job, "RUNNING")
        async with Managed(lab["intrepid"], hooks) as slurm:
            assert slurm.found[job].running
            assert not await slurm.manager.give_back(job)
            await slurm.manager.cancel(job)
            assert (await slurm.wait_for(Ended, job)).started_at is not None
