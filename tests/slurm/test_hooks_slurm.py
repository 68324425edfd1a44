"""cosched's hooks in a real Slurm, with a service that is told and tells."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from deploy.slurm.lab import Cluster
from tests.slurm.cosched_hooks import Service, Site, site

PAIR = "--comment=cosched:pair=p"
LEAD = 0.5  # seconds for the gate: more than a busy machine takes to get there


@pytest.fixture(scope="module")
def hooks() -> Iterator[Site]:
    with site() as folder:
        yield folder


@pytest.fixture(scope="module")
def cluster(hooks: Site) -> Iterator[Cluster]:
    """4 nodes of 50 CPUs."""
    with hooks.lab(nodes=4, cpus=50) as lab:
        yield lab["intrepid"]


@pytest.fixture
def service(hooks: Site, cluster: Cluster) -> Iterator[Service]:
    """A service of its own for each test; what is left of the test's jobs at the end is cancelled."""
    with Service(hooks.socket) as service:
        yield service
        cluster.scancel("--quiet", "--partition=main")


@pytest.fixture
def hold(cluster: Cluster, service: Service) -> Callable[..., int]:
    def hold(script: str = "true", *options: str) -> int:
        job = cluster.sbatch(script, PAIR, *options)
        service.wait_for_offer(job)
        return job

    return hold


Hold = Callable[..., int]


def test_a_job_waits_for_the_service_runs_and_its_end_is_told(cluster: Cluster, service: Service, hold: Hold) -> None:
    job = hold("echo here", "--nodes=2", "--job-name=flow")
    offer = service.offers[-1]
    fields = cluster.job(job)
    assert (fields["JobState"], fields["NodeList"]) == ("CONFIGURING", offer.nodelist)
    assert (offer.nodes, offer.name, offer.restarts, offer.batch) == (2, "flow", 0, True)
    assert f"{offer.user}({offer.uid})" == fields["UserId"]
    assert service.start(job)
    service.wait_for(f"COMPLETED {job}")
    assert (cluster.jobs / f"slurm-{job}.out").read_text() == "here\n"
    (end,) = (end for end in service.ends if end.job_id == str(job))
    assert end.exit_code == "0:0"
    assert 0 < (end.submitted_at or 0) <= (end.started_at or 0) <= (end.ended_at or 0)


def test_a_job_without_a_mate_is_no_concern_of_the_service_but_for_its_end(cluster: Cluster, service: Service) -> None:
    job = cluster.sbatch("true", "--comment=just words")
    service.wait_for(f"COMPLETED {job}")
    assert service.offers == []


def test_a_job_that_must_not_be_requeued_is_cancelled_if_it_gives_its_turn_up(service: Service, hold: Hold) -> None:
    """Why such jobs can only hold."""
    job = hold("true", "--no-requeue")
    service.give_back(job)
    service.wait_for(f"CANCELLED {job}")


def test_the_time_that_a_job_is_held_is_not_charged_to_it(cluster: Cluster, service: Service, hold: Hold) -> None:
    job = hold("sleep 55", "--time=1")
    cluster.wait_for(lambda: cluster.job(job)["RunTime"] >= "00:00:02", "two seconds of hold")
    service.start(job)
    cluster.wait_for_state(job, "RUNNING")
    end, start = (datetime.fromisoformat(cluster.job(job)[key]) for key in ("EndTime", "StartTime"))
    assert (end - start).total_seconds() >= 60 + 2


def test_the_cancellation_of_a_held_job_withdraws_it(cluster: Cluster, service: Service, hold: Hold) -> None:
    job = hold()
    cluster.scancel(job)
    service.wait_for(f"withdrawn {job}")
    service.wait_for(f"CANCELLED {job}")
    assert not service.start(job)


def test_the_cancellation_of_a_pending_job_is_told(cluster: Cluster, service: Service) -> None:
    job = cluster.sbatch("true", PAIR, "--begin=now+1000")
    cluster.scancel(job)
    service.wait_for(f"CANCELLED {job}")
    assert service.offers == []


def test_a_controller_that_was_killed_offers_a_held_job_again_on_the_same_nodes(
    cluster: Cluster, service: Service, hold: Hold
) -> None:
    job = hold("true", "--nodes=2")
    cluster.wait_until_saved(job)
    cluster.kill_controller()
    service.wait_for(f"withdrawn {job}")
    cluster.start_controller()
    assert service.wait_for_offer(job, times=2).nodelist == service.offers[0].nodelist
    assert cluster.state(job) == "CONFIGURING"
    service.start(job)
    service.wait_for(f"COMPLETED {job}")


def test_array_tasks_and_heterogeneous_components_say_what_they_are(cluster: Cluster, service: Service) -> None:
    array = cluster.sbatch("true", PAIR, "--array=3-4")
    het = cluster.sbatch("true", PAIR, "-n1", ":", "-n1", PAIR)
    cluster.wait_for(lambda: len(service.offers) == 4, "the offers")
    assert {offer.array for offer in service.offers} == {f"{array}_3", f"{array}_4", None}
    assert {offer.het for offer in service.offers} == {f"{het}+0", f"{het}+1", None}
    for offer in list(service.offers):
        service.start(int(offer.job_id))
    ids = {offer.job_id for offer in service.offers}
    cluster.wait_for(lambda: ids <= {end.job_id for end in service.ends}, "their ends")
    ends = [end for end in service.ends if end.job_id in ids]  # one of an earlier test may come late
    assert {end.array for end in ends} == {offer.array for offer in service.offers}
    assert {end.het for end in ends} == {offer.het for offer in service.offers}


def test_the_gate_opens_at_the_agreed_instant(cluster: Cluster, hooks: Site) -> None:
    with Service(hooks.socket, gate_lead=LEAD) as service:
        job = cluster.sbatch("date +%s%N\nsrun true", PAIR)
        service.wait_for_offer(job)
        at = time.time() + LEAD
        service.start(job, at)
        service.wait_for(f"COMPLETED {job}")
        first = int((cluster.jobs / f"slurm-{job}.out").read_text()) / 1e9
        assert first >= at


def test_with_a_task_prolog_jobs_run_where_there_is_no_service(cluster: Cluster) -> None:
    job = cluster.sbatch("srun echo here")
    cluster.wait_for_state(job, "COMPLETED")
    assert (cluster.jobs / f"slurm-{job}.out").read_text() == "here\n"
