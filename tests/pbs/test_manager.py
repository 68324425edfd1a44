"""The manager with a real server: offers, holds, starts, yields, restarts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import pytest

from cosched.adapters.findings import Grade
from cosched.adapters.permissions import Account
from deploy.pbs.lab import PbsCluster
from tests.pbs.managed import Managed, install_hook

pytestmark = pytest.mark.soak

FREE = ("free",) * 4
HELD = ("offline", "offline", "free", "free")
PAIR = "-lpair=p"


@pytest.fixture(scope="module")
def hooked(cluster: PbsCluster) -> Iterator[PbsCluster]:
    install_hook(cluster)
    return cluster


@pytest.fixture
async def managed(hooked: PbsCluster) -> AsyncIterator[Managed]:
    async with Managed(hooked, backoff=2) as managed:
        yield managed
        for job in list(managed.manager._book.jobs):
            await managed.manager.cancel(job)
        await managed.states(*FREE)


async def test_a_job_is_offered_and_starts_on_the_nodes_it_was_offered(managed: Managed) -> None:
    job = await managed.qsub("true", PAIR)
    await managed.told(job, "Appeared", "Offered")
    assert await managed.manager.start(job)
    await managed.told(job, "Offered", "Started", "Ended")


async def test_nodes_of_a_job_that_waits_long_are_offline_and_others_run_beside_them(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    other = await managed.qsub("true")
    await managed.is_(other, "F")
    assert managed.cluster.job(f"{other}.mira")["exec_vnode"] == "(mira3:ncpus=1)+(mira4:ncpus=1)"
    assert await managed.manager.start(job)
    await managed.states("job-exclusive", "job-exclusive", "free", "free")


async def test_a_job_that_yields_lets_the_next_one_run_and_is_offered_again(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR, nodes=4)
    await managed.told(job, "Offered")
    other = await managed.qsub("true", nodes=4)
    assert await managed.manager.give_back(job)
    await managed.is_(other, "R", "F")
    await managed.told(job, "Offered", "Offered")


async def test_a_hold_ends_by_force_and_other_jobs_come_first(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR, nodes=4)
    await managed.states("offline", "offline", "offline", "offline")
    other = await managed.qsub("sleep 1", nodes=4)
    assert await managed.manager.release(job)
    await managed.is_(other, "R", "F")
    await managed.told(job, "Offered", "Offered")


async def test_a_job_is_tried(managed: Managed) -> None:
    blocker = await managed.qsub("sleep 60", nodes=4)
    await managed.is_(blocker, "R")
    job = await managed.qsub("sleep 60", PAIR)
    await managed.manager.look()
    assert not await managed.manager.try_start(job, 0.5)
    await managed.until(lambda: managed.cluster.run("qdel", blocker) == "", "its end")
    assert await managed.manager.try_start(job, 60)
    assert managed.of(job) == ["Appeared"]


async def test_the_next_service_goes_on_with_a_hold(hooked: PbsCluster) -> None:
    async with Managed(hooked) as first:
        job = await first.qsub("sleep 60", PAIR)
        await first.states(*HELD)
    async with Managed(hooked) as second:
        assert second.found[job].offered
        await second.told(job, "Offered")
        assert await second.manager.start(job)
        await second.states("job-exclusive", "job-exclusive", "free", "free")
        await second.manager.cancel(job)
        await second.states(*FREE)


async def test_a_hold_outlives_the_server(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    managed.cluster.kill_server()
    managed.cluster.start_server()
    await managed.states(*HELD)
    assert await managed.manager.start(job)
    await managed.told(job, "Offered", "Started")


async def test_a_held_job_that_is_cancelled_leaves_no_node_offline(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    await managed.manager.cancel(job)
    await managed.told(job, "Offered", "Ended")
    await managed.states(*FREE)


async def test_an_administrator_s_node_stays_offline(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    managed.cluster.qmgr("unset node mira1 resources_available.cosched_holder")
    await managed.manager.cancel(job)
    await managed.told(job, "Offered", "Ended")
    await managed.states("offline", *FREE[1:])
    managed.cluster.qmgr("set node mira1 state -= offline")


async def test_a_job_starts_at_an_instant(managed: Managed) -> None:
    job = await managed.qsub("date +%s.%N > $PBS_O_WORKDIR/started", PAIR, "-o", "/dev/null")
    await managed.told(job, "Appeared", "Offered")
    at = time.time() + 2
    assert await managed.manager.start(job, at)
    await managed.told(job, "Started", "Ended")


async def test_doctor_finds_nothing_wrong(managed: Managed) -> None:
    found = await managed.manager.examine(Account.of(0), serving=True)
    assert {finding.grade for finding in found} <= {Grade.OK}, found
