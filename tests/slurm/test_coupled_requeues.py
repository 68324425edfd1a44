"""A running job of a pair on two real Slurm clusters ends, or is queued again: its mate follows, if that is so said."""

import pytest

from deploy.slurm.lab import Domain
from tests.live.coupled import story
from tests.live.workloads import Work
from tests.slurm.coupled_checks import START, Served, check_cosched_agrees, hold, whys
from tests.slurm.laboratory import laboratory
from tests.slurm.test_coupled_slurm_failures import TOGETHER_OR_ASKED
from tests.tiers import soaked

LONG = Work("p", 1, 600)
running, coupled = laboratory(Served, options={"nodes": 2, "cpus": 20}, services=False, **START)


def run(coupled: Served, choice: str, *options: str) -> tuple[str, str]:
    """Have a pair run whose domains have this on_member_requeued; `options`: of the job there."""
    coupled.serve(on_member_requeued=choice)
    jobs = hold(coupled, coupled.here, LONG), coupled.submit(coupled.there, LONG, *options)
    for domain, job in zip(coupled.lab, jobs, strict=True):
        coupled.until_state(domain, job, "running")
        domain.cluster.wait_for_state(int(job), "RUNNING")
    return jobs


def requeue(domain: Domain, job: str, how: str) -> None:
    """By an order, or since its node goes down."""
    if how == "scontrol requeue":
        domain.cluster.scontrol("requeue", job)
        return
    node = domain.cluster.job(int(job))["NodeList"]
    domain.cluster.kill_node(node)
    domain.cluster.down_node(node)


def told(domain: Domain, job: str) -> str:
    """What cosched has warned of a job."""
    return "; ".join(event.text for event in story(domain, job, kinds=["warning"]))


@pytest.mark.parametrize("how", soaked(["scontrol requeue", "node down"], 1))
def test_the_mate_of_a_job_that_is_queued_again_is_queued_again_too_and_both_start_together(
    coupled: Served, how: str
) -> None:
    here, there = coupled.here, coupled.there
    jobs = run(coupled, "requeue")
    node = here.cluster.job(int(jobs[0]))["NodeList"]
    requeue(here, jobs[0], how)
    for domain, job in zip(coupled.lab, jobs, strict=True):
        coupled.until(lambda domain=domain, job=job: whys(domain, job)[1:], f"{job} to start again")
        coupled.until_state(domain, job, "running")
    assert {
        why for domain, job in zip(coupled.lab, jobs, strict=True) for why in whys(domain, job)
    } <= TOGETHER_OR_ASKED
    assert "queued again: its mate was queued again" in told(there, jobs[1])
    check_cosched_agrees(coupled)
    for domain, job in zip(coupled.lab, jobs, strict=True):
        assert domain.cluster.job(int(job))["Restarts"] == "1"
    if how == "node down":
        here.cluster.resume_node(node)
        here.cluster.start_node(node)


def test_the_mate_of_a_job_that_is_queued_again_ends_if_its_domain_has_it_so(coupled: Served) -> None:
    jobs = run(coupled, "end")
    requeue(coupled.here, jobs[0], "scontrol requeue")
    coupled.until_state(coupled.there, jobs[1], "cancelled")
    [ended] = story(coupled.there, jobs[1], kinds=["ended"])
    assert ended.text == "cancelled: its mate was queued again"


@pytest.mark.soak
def test_a_job_that_slurm_cannot_queue_again_runs_on(coupled: Served) -> None:
    jobs = run(coupled, "requeue", "--no-requeue")
    requeue(coupled.here, jobs[0], "scontrol requeue")
    runs_on = "runs on without its mate: its resource manager cannot queue it again"
    coupled.until(lambda: runs_on in told(coupled.there, jobs[1]), "its story")
    assert coupled.there.cluster.state(int(jobs[1])) == "RUNNING"


@pytest.mark.parametrize("service", soaked(["stays", "dies"], 1))
def test_a_job_ends_with_its_mate_on_another_cluster_if_its_comment_says_so(coupled: Served, service: str) -> None:
    here, there = coupled.here, coupled.there
    follows = f"--comment=cosched:pair=p cosched:ends-with={here.name}"
    jobs = run(coupled, "continue", follows)
    if service == "dies":
        there.service.kill()
    here.cluster.scancel(jobs[0])
    if service == "dies":
        coupled.until_state(here, jobs[0], "cancelled")
        there.service.start()
    coupled.until_state(there, jobs[1], "completed")
    [ended] = story(there, jobs[1], kinds=["ended"])
    assert ended.text == "completed: ended with its mate"
    assert there.cluster.state(int(jobs[1])) in ("CANCELLED", "COMPLETING")
