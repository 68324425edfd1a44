"""What a real Slurm does when a running job's size changes: why jobs only give nodes up (slurm.md, Malleable jobs)."""

from collections.abc import Iterator

import pytest

from deploy.slurm.lab import Cluster, Lab, LabError
from deploy.slurm.lab.configuration import QUICK

IN_USE = ("alloc", "mix")  # sinfo's words for such a node; newer ones tell of one node without counting its CPUs
RUNS = "while [ ! -e end ]; do sleep 0.1; done"


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Lab(nodes=4, names=("intrepid",), lines=(f"SchedulerParameters={QUICK},permit_job_expansion",)) as lab:
        yield lab["intrepid"]


@pytest.fixture
def cluster(running: Cluster) -> Iterator[Cluster]:
    """Without any job before and after."""
    yield running
    if jobs := running.squeue("-h", "-o", "%i").split():
        running.scancel(*jobs)
    running.wait_for_no_jobs()


def started(cluster: Cluster, nodes: int, script: str = RUNS) -> int:
    job = cluster.sbatch(script, f"--nodes={nodes}", "--time=10")
    cluster.wait_for_state(job, "RUNNING")
    return job


def second(cluster: Cluster, job: int) -> int:
    """A job that is to enlarge another one, without any step; salloc is killed if it has to wait."""
    known = set(cluster.squeue("-h", "-o", "%i").split())
    salloc = ("salloc", "--no-shell", "--nodes=1", f"--dependency=expand:{job}")
    cluster.try_run("timeout", "--signal=KILL", "2", *salloc)
    (new,) = set(cluster.squeue("-h", "-o", "%i").split()) - known
    return int(new)


def nodes_of(cluster: Cluster, job: int) -> str:
    return cluster.job(job)["NodeList"]


def test_tasks_on_nodes_that_are_given_up_are_killed_and_the_rest_of_their_step_goes_on(cluster: Cluster) -> None:
    job = started(cluster, 3, f"srun sh -c 'touch task.$SLURM_PROCID; {RUNS}'")
    cluster.wait_for(lambda: len(list(cluster.jobs.glob("task.*"))) == 3, "three tasks")
    cluster.update(job, numnodes=1)
    cluster.wait_for_nodes("idle", 2, 3)
    output = cluster.jobs / f"slurm-{job}.out"
    cluster.wait_for(lambda: output.read_text().count("Killed") == 2, "the end of two tasks")
    assert (cluster.state(job), f"{job}.0" in cluster.squeue("-h", "-s")) == ("RUNNING", True)


def test_the_host_of_the_script_stays(cluster: Cluster) -> None:
    job = started(cluster, 3)
    with pytest.raises(LabError, match="Invalid node name"):
        cluster.update(job, nodelist="intrepid[2-3]")
    assert nodes_of(cluster, job) == "intrepid[1-3]"


@pytest.mark.soak
def test_a_change_that_slurmctld_had_not_saved_when_it_was_killed_may_be_made_again(cluster: Cluster) -> None:
    job = started(cluster, 4)
    cluster.wait_until_saved(job)
    cluster.update(job, numnodes=2)
    cluster.kill_controller()
    cluster.start_controller()
    cluster.wait_for_nodes("alloc")
    assert nodes_of(cluster, job) == "intrepid[1-4]"
    cluster.update(job, numnodes=2)
    assert nodes_of(cluster, job) == "intrepid[1-2]"


@pytest.mark.soak
def test_a_job_grows_by_a_second_one_without_steps(cluster: Cluster) -> None:
    job = started(cluster, 1)
    batch = cluster.sbatch(RUNS, "--nodes=1", f"--dependency=expand:{job}")
    cluster.wait_for_state(batch, "RUNNING")
    cluster.wait_for(lambda: f"{batch}.batch" in cluster.squeue("-h", "-s"), "its script")
    with pytest.raises(LabError, match="Job step already exists"):
        cluster.update(batch, numnodes=0)
    cluster.scancel(batch)
    more = second(cluster, job)
    cluster.update(more, numnodes=0)
    cluster.wait_for_state(more, "COMPLETED")
    assert cluster.job(job)["NumNodes"] == "2"


@pytest.mark.soak
def test_a_second_job_that_waits_outlives_the_first_and_then_has_nodes_for_nothing(cluster: Cluster) -> None:
    job, other = started(cluster, 2), started(cluster, 2)
    more = second(cluster, job)
    assert cluster.state(more) == "PENDING"
    cluster.scancel(job)
    cluster.wait_for_state(more, "RUNNING")
    assert cluster.state(other) == "RUNNING"


@pytest.mark.soak
def test_a_second_job_cannot_be_merged_after_a_restart_of_slurmctld(cluster: Cluster) -> None:
    job = started(cluster, 1)
    more = second(cluster, job)
    cluster.stop_controller()
    cluster.start_controller()
    with pytest.raises(LabError, match="Node count specification invalid"):
        cluster.update(more, numnodes=0)


@pytest.mark.soak
def test_a_second_job_that_is_merged_into_one_that_has_ended_loses_its_nodes(cluster: Cluster) -> None:
    """They are nobody's, and nobody can have them, until an operator restarts or reconfigures slurmctld."""
    job = started(cluster, 1)
    more = second(cluster, job)
    node = nodes_of(cluster, more)
    cluster.scancel(job)
    cluster.wait_for_state(job, "CANCELLED")
    cluster.update(more, numnodes=0)
    cluster.wait_for(lambda: not cluster.squeue("-h"), "the end of both")
    waits = cluster.sbatch("true", "--nodes=4")
    cluster.wait_for(lambda: cluster.job(waits)["Reason"] == "Resources", "a job that waits for the lost node")
    assert cluster.sinfo("-h", "-n", node, "-o", "%t").strip() in IN_USE
    cluster.reconfigure()
    cluster.wait_for_state(waits, "COMPLETED")
