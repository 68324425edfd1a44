"""Slots of jobs that ask for GPUs, memory, features and licences, and share their nodes, on a real cluster."""

import asyncio
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest

from cosched_adapters.batch_job import Phase
from cosched_adapters.slurm.slots import REFUSED
from deploy.slurm.lab import clear
from tests.slurm.managed import Managed, Place, clusters
from tests.slurm.test_slots import LATER, PATIENCE, left_over, queued, slots_of, starts_at_slot

ENDLESS = "sleep 1000"
SMALL = ("--mem=100", "--time=5")


@pytest.fixture(scope="module")
def gpus() -> Iterator[Place]:
    """Four nodes with 4 CPUs, 2 GPUs and 1,000 MB each; the first two are fast. Two licences."""
    with clusters("intrepid", nodes=4, cpus=4, gpus=2, memory=1000, lines=("Licenses=matlab:2",)) as found:
        cluster, _ = found["intrepid"]
        for node, feature in zip(cluster.nodes, ("fast", "fast", "slow", "slow"), strict=True):
            cluster.scontrol("update", f"nodename={node}", f"availablefeatures={feature}", f"activefeatures={feature}")
        yield found["intrepid"]


@pytest.fixture
def place(gpus: Place) -> Iterator[Place]:
    yield gpus
    clear(gpus[0])


async def runs(slurm: Managed, *options: str) -> int:
    """A job without a mate that runs until it is cancelled, or for five minutes."""
    job = await asyncio.to_thread(slurm.cluster.sbatch, ENDLESS, *SMALL, *options)
    await asyncio.to_thread(slurm.cluster.wait_for_state, job, "RUNNING")
    return job


async def test_a_wanted_job_starts_on_the_gpu_that_another_job_leaves(place: Place) -> None:
    """Each node runs a job with one GPU. The first job of the queue wants all GPUs of a node."""
    async with Managed(*place) as slurm:
        for node in slurm.cluster.nodes:
            await runs(slurm, "--gres=gpu:1", f"--nodelist={node}")
        first = await queued(slurm, "--gres=gpu:2", *SMALL)
        wanted = await queued(slurm, "--gres=gpu:1", "--mem=100", "--time=30")
        slots, guards = slots_of(slurm), dict[str, int]()
        plan = await slurm.manager._slurm.plan(int(time.time()))
        assert (plan.asks(wanted.job_id).amounts or {}).items() >= {"cpu": 1, "mem": 100, "gres/gpu": 1}.items()
        started = await slots.start_wanted(wanted, Fraction(1000), guards, (), PATIENCE)
        assert started.offer
        assert first.phase is Phase.QUEUED
        assert await slurm.manager.start(wanted.job_id)
        await slots.unbook(wanted.job_id)
        assert await left_over(slurm) == []
        await slurm.wait_for_state(wanted.job_id, "COMPLETED")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("busy", "asked"),
    [
        (["--gres=gpu:2", "--nodes=4"], ["--gres=gpu:1"]),
        (["--nodes=2", "--constraint=fast", "--exclusive"], ["--constraint=fast", "--gres=gpu:1"]),
        (["--licenses=matlab:2"], ["--licenses=matlab"]),
        (["--nodes=4", "--mem=600"], ["--mem=500"]),
        (["--nodes=4"], ["--exclusive"]),
        (["--nodelist=intrepid2", "--exclusive"], ["--nodelist=intrepid2"]),
    ],
)
async def test_a_slot_begins_once_there_is_what_the_job_asks_for(
    place: Place, busy: list[str], asked: list[str]
) -> None:
    async with Managed(*place) as slurm:
        filler = await asyncio.to_thread(slurm.cluster.sbatch, ENDLESS, *SMALL, *busy)
        end = int((await slurm.wait_for_state(str(filler), "RUNNING")).ended_at or 0)
        job = await queued(slurm, LATER, *SMALL, *asked)
        slots = slots_of(slurm)
        assert await slots.start_wanted(job, Fraction(1000), {}, (), PATIENCE) == REFUSED
        at = await slots.quote(job, 0, ())
        assert at is not None
        assert abs(at - end) <= 2
        assert await slots.book(job, 1, at, ())
        slurm.cluster.scancel(filler)
        await slurm.wait_for_state(str(filler), "CANCELLED")
        now = int(time.time())
        assert await slots.book(job, 2, now, ())
        await starts_at_slot(slurm, slots, job)


@pytest.mark.soak
async def test_a_job_whose_wishes_cannot_be_counted_is_told_so(place: Place) -> None:
    async with Managed(*place) as slurm:
        job = await queued(slurm, "--nodes=2", "--constraint=[fast|slow]", "--exclusive", *SMALL, "--begin=now+1hour")
        job.kept_back = job.eligible
        slots = slurm.manager._slots
        assert await slots.quote(job, 0, ()) is None
        assert "no slot: its constraint [fast|slow]" in slurm.manager.outlooks()[job.job_id].reason
