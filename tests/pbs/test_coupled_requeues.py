"""A running job of a pair on two real PBS clusters is queued again by qrerun: its mate follows, if that is so said."""

from __future__ import annotations

import pytest

from deploy.lab.coupled import Domain
from tests.live.coupled import story
from tests.live.coupled_labs import Coupled
from tests.live.workloads import Work
from tests.pbs.laboratory import laboratory

pytestmark = pytest.mark.soak
SETTINGS = {"release_interval": 0, "max_held_fraction": 1, "max_yields": 0, "try_patience": 2, "poll_interval": 1}
LONG = Work("p", 2, 600)


running, coupled = laboratory(("pbs", "pbs"), clear=True, **SETTINGS)


def run(coupled: Coupled, choice: str, *options: str) -> tuple[str, str]:
    """Have a pair run whose domains have this on_member_requeued; `options`: of the job there."""
    coupled.lab.serve(("hold", "hold"), on_member_requeued=choice, **SETTINGS)
    jobs = coupled.submit(coupled.here, LONG), coupled.submit(coupled.there, LONG, *options)
    for domain, job in zip(coupled.lab, jobs, strict=True):
        coupled.until_state(domain, job, "running")
    return jobs


def runs(domain: Domain, job: str) -> int:
    """How often PBS has begun a job."""
    return int(domain.cluster.job(f"{job}.{domain.cluster.name}")["run_count"])


def test_the_mate_of_a_job_that_is_queued_again_is_queued_again_too_and_both_start_together(coupled: Coupled) -> None:
    here, there = coupled.here, coupled.there
    jobs = run(coupled, "requeue")
    here.cluster.run("qrerun", jobs[0])
    for domain, job in zip(coupled.lab, jobs, strict=True):
        coupled.until(lambda domain=domain, job=job: runs(domain, job) == 2, f"{job} to start again")
        coupled.until_state(domain, job, "running")
    warned = "; ".join(event.text for event in story(there, jobs[1], kinds=["warning"]))
    assert "queued again: its mate was queued again" in warned
    times = [float(line.split()[2]) for domain in coupled.lab for line in domain.notes.read_text().splitlines()[1:]]
    assert len(times) == 2
    assert abs(times[0] - times[1]) < 1, times


def test_a_job_that_pbs_must_not_queue_again_runs_on(coupled: Coupled) -> None:
    jobs = run(coupled, "requeue", "-rn")
    coupled.here.cluster.run("qrerun", jobs[0])
    runs_on = "runs on without its mate: its resource manager cannot queue it again"
    coupled.until(
        lambda: any(runs_on in event.text for event in story(coupled.there, jobs[1], kinds=["warning"])), "its story"
    )
    assert runs(coupled.there, jobs[1]) == 1


def test_the_mate_of_a_job_that_is_queued_again_ends_if_its_domain_has_it_so(coupled: Coupled) -> None:
    jobs = run(coupled, "end")
    coupled.here.cluster.run("qrerun", jobs[0])
    coupled.until_state(coupled.there, jobs[1], "cancelled")
    [ended] = story(coupled.there, jobs[1], kinds=["ended"])
    assert ended.text == "cancelled: its mate was queued again"
