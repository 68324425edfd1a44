"""Slots on a real cluster whose slurmctld is killed at each step: nothing is left behind."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosched_adapters.slurm.batch_job import BatchJob
from cosched_adapters.slurm.slots import Slots
from deploy.slurm.lab import Cluster
from tests.slurm.killing import AFTER, BEFORE, STEPS, Killer
from tests.slurm.managed import Managed, Place, places
from tests.slurm.test_slots import LATER, PATIENCE, left_over, slots_of

pytestmark = pytest.mark.soak
KILLED = 120.0  # seconds


made, cleared = places(nodes=4)


@pytest.fixture
def place(cleared: Place) -> Iterator[Place]:
    yield cleared
    cluster, _ = cleared
    for node in cluster.nodes:  # drained if Slurm has forgotten that a job runs there, and starts it again
        cluster.try_run("scontrol", "update", f"nodename={node}", "state=resume")


@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize("step", [step for step in STEPS if step != "reserve now"])
async def test_a_slot_that_is_booked_moved_and_claimed_while_slurmctld_is_killed(
    place: Place, tmp_path: Path, step: str, when: str
) -> None:
    cluster, _ = place
    killer = Killer(tmp_path, step, when, cluster.pid())
    async with Managed(*place, bin=str(tmp_path)) as slurm:
        job_id = await slurm.submit("true", LATER, "--nodes=4", "--time=1")
        assert await slurm.manager.look()
        await asyncio.to_thread(cluster.wait_until_saved, int(job_id))
        slots, job = slots_of(slurm), slurm.known[job_id]
        job.kept_back = job.eligible  # as if it had yielded: what its user delays gets no slot
        assert await slots.take_up({}, {}) == []
        killer.arm()
        restart = asyncio.create_task(asyncio.to_thread(restart_once_killed, cluster, killer))
        for generation, ahead in ((1, 90), (2, 20)):
            now = int(time.time())
            await slots.book(job, generation, now + ahead, ())  # refused where no node is known yet to be up
        claimed = await claim_at_slot(slots, job)
        if claimed:
            assert await slurm.manager.start(job_id)
        await slots.unbook(job_id)
        await restart
        await slots.sweep()
        assert await left_over(slurm) == []


async def claim_at_slot(slots: Slots, job: BatchJob) -> bool:
    slot = slots.of(job.job_id)
    if slot is None:
        return False
    await asyncio.sleep(max(0, slot.at - time.time()))
    return await slots.claim(job, PATIENCE)


def restart_once_killed(cluster: Cluster, killer: Killer) -> None:
    cluster.wait_for(lambda: killer.has_killed, "the kill", KILLED)
    cluster.kill_controller()
    cluster.start_controller()
