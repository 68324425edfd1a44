"""What users are told at qsub, qalter and qmove by a real server; then nothing is held, and no job is lost."""

from __future__ import annotations

import subprocess
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from deploy.lab.waiting import LabError
from deploy.pbs.lab import PbsCluster, install_hook
from tests.pbs.managed import Managed

pytestmark = pytest.mark.soak
PAIR, HELD = "-lpair=p", ("offline", "offline", "free", "free")
IN_AN_HOUR = time.strftime("%H%M", time.localtime(time.time() + 3600))


@pytest.fixture(scope="module")
def hooked(cluster: PbsCluster) -> Iterator[PbsCluster]:
    install_hook(cluster)
    cluster.qmgr("create queue other queue_type=execution, enabled=true, started=true")
    return cluster


@pytest.fixture(scope="module")
def reservation(hooked: PbsCluster) -> str:
    """The queue of a reservation."""
    booked = hooked.run("pbs_rsub", "-R", IN_AN_HOUR, "-D", "60", "-lselect=1:ncpus=1").partition(".")[0]
    hooked.wait_for(lambda: "CO" in hooked.run("pbs_rstat"), "the reservation")
    return booked


@pytest.fixture
async def managed(hooked: PbsCluster) -> AsyncIterator[Managed]:
    async with Managed(hooked, backoff=2) as managed:
        yield managed
        if jobs := hooked.run("qselect").split():
            hooked.run("qdel", *jobs)
        await managed.states(*("free",) * 4)
        assert "cosched_holder" not in hooked.run("pbsnodes", "-av")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-lmate=nobody:1",), r"no domain nobody is known here \(known: eureka\)"),
        (("-lmate=mira:1",), "the mate must be a job of another domain"),
        (("-lmate=eureka",), "mate is DOMAIN:ID, such as eureka:17"),
        (("-lmate=eureka:17[2]",), "a job array and its subjobs cannot be mates"),
        (("-lpair=p", "-lmate=eureka:1"), "give pair or mate, not both"),
        (("-lpair=",), "pair is 1 to 128 of A-Z"),
        (('-lpair="a b"',), "pair is 1 to 128 of A-Z"),
        (("-lpair=p", "-J1-3"), "a job array cannot have a mate"),
        (("-lpair=p", "-Wdepend=afterany:0"), "a job with -W depend cannot have a mate"),
        (("-lpair=p", "-Wcreate_resv_from_job=1"), "a job that becomes a reservation cannot have a mate"),
        (("-lor_alone=true",), "or_alone has no effect without pair, mate or group"),
        (("-lpair=p", "-lor_alone=perhaps"), "Illegal attribute or resource value Resource_List.or_alone"),
    ],
)
def test_the_user_is_told_at_qsub(hooked: PbsCluster, options: tuple[str, ...], said: str) -> None:
    with pytest.raises(LabError, match=said):
        hooked.qsub("true", *options)
    assert hooked.run("qselect") == ""


def test_an_interactive_job_is_refused(hooked: PbsCluster) -> None:
    command = f"{hooked.bin}/qsub -I -lpair=p"
    done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True, check=False)
    assert "cosched: an interactive job cannot have a mate" in done.stdout
    assert hooked.run("qselect") == ""


def test_a_job_in_a_reservation_is_refused(hooked: PbsCluster, reservation: str) -> None:
    with pytest.raises(LabError, match="a job in a reservation cannot have a mate"):
        hooked.qsub("true", PAIR, "-q", reservation)
    job = hooked.qsub("true", PAIR, "-h")
    with pytest.raises(LabError, match="a job in a reservation cannot have a mate"):
        hooked.run("qmove", reservation, job)
    assert hooked.job(job)["queue"] == "workq"
    hooked.run("qdel", job)


@pytest.mark.parametrize(
    ("before", "change", "said"),
    [
        (("-lpair=p",), "-lmate=eureka:1", "give pair or mate, not both"),
        (("-lpair=p",), "-lpair=", None),
        (("-lpair=p",), "-lpair=q", None),
        ((), "-lmate=nobody:1", "no domain nobody is known here"),
        (("-J1-3",), "-lpair=p", "a job array cannot have a mate"),
        (("-lpair=p",), "-Wdepend=afterany:{other}", "a job with -W depend cannot have a mate"),
        (("-Wdepend=afterany:{other}",), "-lpair=p", "a job with -W depend cannot have a mate"),
    ],
)
def test_the_user_is_told_at_qalter(hooked: PbsCluster, before: tuple[str, ...], change: str, said: str | None) -> None:
    other = hooked.qsub("true", "-h")
    job = hooked.qsub("true", "-h", *(word.format(other=other) for word in before))
    change = change.format(other=other)
    if said is None:
        hooked.run("qalter", change, job)
    else:
        with pytest.raises(LabError, match=said):
            hooked.run("qalter", change, job)
    assert hooked.job(job)["job_state"] in "HB"
    hooked.run("qdel", job, other)


def test_a_subjob_is_given_no_mate(hooked: PbsCluster) -> None:
    array = hooked.qsub("true", "-h", "-J1-3")
    with pytest.raises(LabError, match=r"a job array cannot have a mate|Invalid request"):
        hooked.run("qalter", "-lpair=p", array.replace("[]", "[2]"))
    hooked.run("qdel", array)


async def test_a_job_whose_resources_change_loses_what_was_kept_for_it_and_is_offered_anew(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    managed.cluster.run("qalter", "-lselect=3:ncpus=1", job)
    await managed.told(job, "Offered", "Withdrawn", "Offered")
    await managed.states("offline", "offline", "offline", "free")
    assert await managed.manager.start(job)
    await managed.is_(job, "R")
    assert managed.cluster.job(f"{job}.mira")["exec_vnode"].count("ncpus=1") == 3


async def test_a_job_that_is_moved_is_offered_anew(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    managed.cluster.run("qmove", "other", job)
    await managed.told(job, "Offered", "Withdrawn", "Offered")
    assert managed.cluster.job(f"{job}.mira")["queue"] == "other"


async def test_a_change_that_fits_disturbs_no_hold(managed: Managed) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    managed.cluster.run("qalter", "-lwalltime=900", job)
    managed.cluster.run("qalter", "-N", "renamed", job)
    await managed.manager.look()
    assert managed.of(job) == ["Appeared", "Offered"]
    await managed.states(*HELD)


@pytest.mark.parametrize("seen_by", ["start", "look"])
async def test_a_job_that_its_user_holds_back_does_not_start_and_keeps_nothing(managed: Managed, seen_by: str) -> None:
    job = await managed.qsub("sleep 60", PAIR)
    await managed.states(*HELD)
    managed.cluster.run("qhold", job)
    await (managed.manager.start(job) if seen_by == "start" else managed.manager.look())
    await managed.told(job, "Offered", "Withdrawn")
    await managed.states(*("free",) * 4)
    managed.cluster.run("qrls", job)
    await managed.told(job, "Withdrawn", "Offered")
