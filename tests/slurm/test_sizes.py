"""Jobs of a real Slurm that ask for a range of nodes: their size is what Slurm gives them (slurm.md)."""

import asyncio

from cosched_adapters.batch_system import Offered, Resized
from cosched_adapters.manager import Ended
from tests.slurm.managed import BUSY, Managed, Place, places

RANGE = "--nodes=1-4"
made, place = places(nodes=4)


async def busy(slurm: Managed, nodes: int) -> str:
    """A job without a mate, which has so many nodes."""
    job = await slurm.submit(BUSY.format(go="never"), f"--nodes={nodes}", comment="--comment=x")
    await slurm.wait_for_state(job, "RUNNING")
    return job


async def ended(slurm: Managed, job: str) -> None:
    """It is cancelled, and its nodes are free."""
    await asyncio.to_thread(slurm.cluster.scancel, int(job))
    await slurm.wait_for_state(job, "CANCELLED")


async def test_a_job_has_other_sizes_in_turn(place: Place) -> None:
    async with Managed(*place) as slurm:
        other = await busy(slurm, 2)
        job = await slurm.hold("true", RANGE)
        assert slurm.offers[-1].nodes == 2
        await ended(slurm, other)
        assert await slurm.manager.give_back(job, 0.5)
        assert (await slurm.wait_for(Offered, job, 2)).nodes == 4
        assert await slurm.manager.start(job)
        await slurm.wait_for(Ended, job)
        assert not [report for report in slurm.reports if isinstance(report, Resized)]


async def test_a_try_tells_on_how_many_nodes_it_has_found_the_job(place: Place) -> None:
    async with Managed(*place, try_patience=30) as slurm:
        first, second = await busy(slurm, 3), await busy(slurm, 1)
        job = await slurm.submit("true", RANGE)
        await slurm.manager.look()
        trying = asyncio.create_task(slurm.manager.try_start(job))
        await slurm.until(lambda: not trying.done(), "the try to begin")
        await ended(slurm, first)
        assert await trying > 0
        [told] = [report for report in slurm.reports if isinstance(report, Resized)]
        row = await slurm.row(job)
        assert told == Resized(job, row.nodes)  # on a busy machine not all nodes of the other job are free yet
        assert 2 <= row.nodes <= 3
        await ended(slurm, second)
        assert await slurm.manager.start(job)
        await slurm.wait_for(Ended, job)
