"""The manager with a real server: offers, holds, starts, yields, restarts."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Iterator

import pytest

from cosched_adapters.findings import Finding, Grade
from cosched_adapters.pbs.doctor import check_preemption
from cosched_adapters.permissions import Account
from deploy.pbs.lab import PbsCluster, install_hook
from tests.pbs.managed import Managed

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
        for job in list(managed.manager.outlooks()):
            await managed.manager.cancel(job)
        await managed.states(*FREE)


async def test_nodes_of_a_job_that_waits_long_are_offline_and_others_run_beside_them(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    other = await managed.qsub("true")
    await managed.is_(other, "F")
    assert managed.cluster.job(f"{other}.mira")["exec_vnode"] == "(mira3:ncpus=1)+(mira4:ncpus=1)"
    assert await managed.manager.start(job)
    await managed.states("job-exclusive", "job-exclusive", "free", "free")


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


async def test_a_hold_outlives_the_service_and_the_server_both(hooked: PbsCluster) -> None:
    async with Managed(hooked) as first:
        job = await first.qsub("sleep 60", PAIR)
        await first.states(*HELD)
    hooked.kill_server()
    hooked.start_server()
    async with Managed(hooked) as second:
        assert second.found[job].offered
        await second.states(*HELD)
        await second.manager.cancel(job)
        await second.states(*FREE)


async def test_a_hold_whose_node_went_to_another_job_is_lost(hooked: PbsCluster) -> None:
    """The server and the service were away, and the nodes were online."""
    async with Managed(hooked) as first:
        job = await first.qsub("sleep 60", PAIR)
        await first.states(*HELD)
    hooked.qmgr("set server scheduling = false", "set node mira1 state -= offline")
    other = hooked.qsub("sleep 600", "-lselect=1:ncpus=1")
    hooked.run("qrun", "-H", "(mira1:ncpus=1)", other)
    hooked.qmgr("set server scheduling = true")
    async with Managed(hooked) as second:
        await second.told(job, "Offered", "Withdrawn", "Offered")
        await second.until(lambda: len(holders := hooked.holders()) == 2 and "mira1" not in holders, "a new hold")
        hooked.run("qdel", other)
        await second.manager.cancel(job)
        await second.states(*FREE)


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


async def examined(managed: Managed) -> dict[str, Finding]:
    found = await managed.manager.examine(Account.of(0), serving=True)
    return {finding.subject: finding for finding in found}


async def test_doctor_finds_nothing_wrong(managed: Managed) -> None:
    found = await examined(managed)
    preemption = found.pop("preemption")  # its file is in a world of its own
    assert {finding.grade for finding in found.values()} <= {Grade.OK}, found
    assert preemption.file == "/mnt/pbs/sched_priv/sched_config"
    assert check_preemption(managed.cluster.path("sched_priv/sched_config")).grade is Grade.WARNING  # as installed


@pytest.mark.parametrize(
    ("subject", "wrong"),
    [
        ("hook", "set hook cosched enabled = false"),
        ("hook", 'set hook cosched event = "runjob"'),
        ("hook", "set hook cosched alarm = 300"),
        ("job history", "set server job_history_enable = false"),
        ("scheduling", "set server scheduling = false"),
    ],
)
async def test_doctor_has_the_line_that_mends_it(managed: Managed, subject: str, wrong: str) -> None:
    managed.cluster.qmgr(wrong)
    managed.cluster.qmgr(*(shlex.split(line)[2] for line in (await examined(managed))[subject].lines))
    assert (await examined(managed))[subject].grade is Grade.OK


async def test_doctor_says_how_a_hook_is_installed(managed: Managed) -> None:
    managed.cluster.qmgr("delete hook cosched")
    lines = (await examined(managed))["hook"].lines
    assert [shlex.split(line)[2].partition(" ")[0] for line in lines] == ["create", "import", "import"]
    install_hook(managed.cluster, resources=False)
    assert (await examined(managed))["hook"].grade is Grade.OK


async def test_scheduling_that_an_administrator_has_turned_off_stays_off(managed: Managed) -> None:
    await managed.manager._pbs.schedule()  # ends the cycle of its opening, which would turn it on again
    managed.cluster.qmgr("set server scheduling = false")
    job = await managed.qsub("sleep 60", PAIR)
    await managed.manager.look()
    assert not await managed.manager.try_start(job, 0.5)
    assert (await examined(managed))["scheduling"].grade is Grade.WARNING
    managed.cluster.qmgr("set server scheduling = true")
    await managed.told(job, "Appeared", "Offered")


async def test_nodes_of_nobody_are_found_and_put_online(managed: Managed) -> None:
    managed.cluster.qmgr(
        "set node mira4 state += offline", 'set node mira4 resources_available.cosched_holder = "4711 ncpus=1"'
    )
    found = (await examined(managed))["held nodes"]
    assert found.found == "mira4 offline for jobs that do not wait"
    managed.cluster.qmgr(*(shlex.split(line)[2] for line in found.lines))
    await managed.states(*FREE)
