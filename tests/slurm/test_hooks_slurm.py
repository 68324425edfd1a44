"""cosched's hooks in a real Slurm, with a service that is told and tells."""

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from deploy.slurm.lab import Cluster
from tests.slurm.cosched_hooks import PATIENCE, Service, Site, site

PAIR = "--comment=cosched:pair=p"
END = 300  # seconds: a safety net
MANY_PATIENCE = 180  # seconds: the same, for a hundred jobs
SHORT_PATIENCE = 10  # seconds, of hooks: more than any pause of a service that runs
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


def test_a_job_that_gives_its_turn_up_is_back_in_the_queue_and_offered_again(
    cluster: Cluster, service: Service, hold: Hold
) -> None:
    job = hold()
    service.give_back(job)
    service.wait_for(f"PENDING {job}")
    cluster.wait_for_state(job, "PENDING")
    cluster.wait_for(lambda: cluster.job(job)["Reason"] == "BeginTime", "the requeue's delay")
    cluster.update(job, starttime="now")
    assert service.wait_for_offer(job, times=2).restarts == 1
    service.start(job)
    service.wait_for(f"COMPLETED {job}")


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


def test_a_requeued_job_comes_again_once_its_stale_hook_is_ended(
    cluster: Cluster, service: Service, hold: Hold
) -> None:
    job = hold()
    cluster.scontrol("requeue", str(job))
    service.wait_for(f"PENDING {job}")
    cluster.wait_for_state(job, "PENDING")
    assert service.end(job)
    cluster.update(job, starttime="now")
    service.wait_for_offer(job, times=2)
    service.start(job)
    service.wait_for(f"COMPLETED {job}")
    assert service.told.count(f"PENDING {job}") == 1  # its stale hook's end has requeued nothing


def test_a_job_whose_node_goes_down_comes_again_on_another(cluster: Cluster, service: Service, hold: Hold) -> None:
    job = hold()
    node = service.offers[-1].nodelist
    cluster.down_node(node)
    try:
        service.wait_for(f"NODE_FAIL {job}")
        cluster.wait_for_state(job, "PENDING")
        service.end(job)
        cluster.update(job, starttime="now")
        assert service.wait_for_offer(job, times=2).nodelist != node
        service.start(job)
        service.wait_for(f"COMPLETED {job}")
    finally:
        cluster.resume_node(node)


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


def test_when_the_service_comes_back_held_jobs_are_still_held(cluster: Cluster, service: Service, hold: Hold) -> None:
    job = hold()
    service.close()
    service.open()
    service.wait_for_offer(job, times=2)
    assert cluster.state(job) == "CONFIGURING"
    service.start(job)
    service.wait_for(f"COMPLETED {job}")


def test_without_the_service_held_jobs_and_new_ones_start(cluster: Cluster, hooks: Site) -> None:
    conf = (hooks.folder / "cosched.conf").read_text()
    hooks.configure(conf.replace(f"patience={PATIENCE}", f"patience={SHORT_PATIENCE}"))
    try:
        with Service(hooks.socket) as service:
            held = cluster.sbatch("true", PAIR)
            service.wait_for_offer(held)
        new = cluster.sbatch("true", PAIR)
        for job in (held, new):
            cluster.wait_for_state(job, "COMPLETED")
            assert sum(f" job {job}: no service at " in line for line in hooks.messages()) == 1
    finally:
        hooks.configure(conf)


@pytest.mark.parametrize(
    "comment",
    [
        "cosched:pair=$(touch /tmp/cosched-evaluated) `id` '\" \\ ; exit 1 & | > < * ?",
        "cosched:pair=p\n1|RUNNING|b\nended\tjob=1\tstate=COMPLETED\n%0A%s",
        "cosched:pair=caf\udce9 \udcff naïve→✓",
        "cosched:" + 1016 * "\udcff",
    ],
    ids=["shell", "lines", "bytes", "long"],
)
def test_a_comment_arrives_whole_through_slurm(cluster: Cluster, service: Service, comment: str) -> None:
    job = cluster.sbatch("true", f"--comment={comment}")
    offer = service.wait_for_offer(job)
    assert offer.comment == comment
    service.start(job)
    service.wait_for(f"COMPLETED {job}")


@pytest.mark.soak
def test_a_hundred_jobs_are_held_and_started(cluster: Cluster, service: Service) -> None:
    jobs = [cluster.sbatch("true", PAIR) for _ in range(100)]
    cluster.wait_for(lambda: len(service.offers) >= 100, "a hundred offers", MANY_PATIENCE)
    assert cluster.squeue("-h", "-o", "%T").split().count("CONFIGURING") == 100
    for job in jobs:
        assert service.start(job)
    cluster.wait_for(lambda: not cluster.squeue("-h"), "the end of them all", MANY_PATIENCE)
    cluster.wait_for(lambda: set(map(str, jobs)) <= {end.job_id for end in service.ends}, "the notes of their ends")
    assert {service.told.count(f"offer {job}") for job in jobs} == {1}


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


def test_srun_is_held_too_and_not_taken_for_a_batch_job(cluster: Cluster, service: Service) -> None:
    job = cluster.sbatch("true", "--hold")  # the number before
    cluster.scancel(job)
    command = ("srun", PAIR, "-n1", "echo", "here")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=cluster.environment, cwd="/") as srun:
        try:
            offer = service.wait_for_offer(job + 1)
            assert offer.batch is None
            service.start(job + 1)
            assert srun.communicate(timeout=END)[0] == "here\n"
        finally:
            srun.kill()


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
