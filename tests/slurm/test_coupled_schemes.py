"""Two real Slurm clusters, coscheduled: holds, yields and forced releases, each as Slurm and as cosched show it.

The service of `here` is restarted where a test needs other settings; that of `there` holds throughout.
"""

import time

import pytest

from cosched.client import Job
from deploy.slurm.lab import Domain
from tests.live.coupled import known
from tests.live.workloads import Outcome, Work
from tests.slurm.coupled import Coupled
from tests.slurm.coupled_checks import fill
from tests.slurm.laboratory import laboratory
from tests.slurm.managed import rows

NODES = 4
LARGE = 3  # nodes, as many as may be held
HOLD = {"release_interval": 0, "max_yields": 0, "backoff": 30}
RELEASE = HOLD | {"release_interval": 1}
YIELD = HOLD | {"max_yields": 2, "backoff": 600}
QUICK = {"max_held_fraction": 0.75, "try_patience": 1.2, "poll_interval": 1}
PATIENCE = 300  # seconds, of hooks: more than a service needs to start on a busy machine
P = Work("p", 1, 0.1)
running, coupled = laboratory(
    schemes=("hold", "hold"), strict=False, options={"nodes": NODES}, patience=PATIENCE, **QUICK | HOLD
)


def serve(coupled: Coupled, scheme: str, settings: dict[str, int]) -> None:
    """Have `here` served with these settings."""
    service = coupled.here.service
    before = service.configuration
    coupled.lab.configure((scheme, "hold"), **settings)
    if service.configuration != before:
        service.stop()
        service.start()


def check_pairs_ran_together(outcome: Outcome, *pairs: str) -> None:
    assert outcome.states == {"completed": 2 * len(pairs)}
    assert sorted(outcome.runs.values()) == [1] * 2 * len(pairs)
    assert sorted(outcome.times) == sorted(pairs)
    assert outcome.alone() == {}


def priority(domain: Domain, job_id: str) -> tuple[str, str]:
    fields = domain.cluster.job(int(job_id))
    return fields["Priority"], fields["Nice"]


def has_run(domain: Domain, job_id: str) -> bool:
    return domain.cluster.state(int(job_id)) == "COMPLETED"


def has_yielded(job: Job, yields: int) -> bool:
    return job.state == "queued" and job.holds.yields == yields


def begin_now(domain: Domain, job_id: str) -> None:
    """Cut a job's backoff short, once Slurm knows of it."""
    at_least = time.time() + YIELD["backoff"] / 2  # Slurm itself keeps it back for two minutes, at first
    domain.cluster.wait_for(lambda: (rows(domain.cluster, job_id)[0].eligible_at or 0) > at_least, "its backoff")
    domain.cluster.update(int(job_id), starttime="now")


def test_a_job_holds_its_nodes_until_its_mate_has_some(coupled: Coupled) -> None:
    here, there = coupled.here, coupled.there
    serve(coupled, "hold", HOLD)
    busy = fill(there, NODES)
    first, mate = coupled.submit(here, P), coupled.submit(there, P)
    coupled.until_state(here, first, "holding")
    assert here.cluster.state(int(first)) == "CONFIGURING"
    assert " HO " in here.service.run("pairs")
    there.cluster.scancel(busy)
    check_pairs_ran_together(coupled.outcome([first], [mate]), "p")


def test_jobs_without_a_mate_are_scheduled_by_slurm_alone(coupled: Coupled) -> None:
    """On the nodes that no job holds, in their order, and unknown to cosched."""
    here = coupled.here
    serve(coupled, "hold", HOLD)
    held = coupled.submit(here, Work("never", 1, 0.1))
    coupled.until_state(here, held, "holding")
    alone = [coupled.submit(here, Work(None, LARGE, 0.05), f"--comment=flow {number}") for number in range(3)]
    coupled.until(lambda: all(has_run(here, job) for job in alone), "the end of the jobs without a mate")
    notes = [line.split()[0] for line in (here.cluster.jobs / "notes").read_text().splitlines()]
    assert [job for job in notes if job in alone] == alone
    assert known(here)[held].state == "holding"
    assert not set(alone) & set(known(here))


def test_a_job_above_the_cap_yields_and_says_so(coupled: Coupled) -> None:
    here, there = coupled.here, coupled.there
    serve(coupled, "hold", HOLD)
    first = coupled.submit(here, Work("p", NODES, 0.1))
    job = coupled.until_job(here, first, lambda job: job.reason == "TooLargeToHold", "to be above the cap")
    assert (job.state, job.holds.holds) == ("queued", 0)
    check_pairs_ran_together(coupled.outcome([first], [coupled.submit(there, P)]), "p")
    assert known(here)[first].holds.holds == 0


@pytest.mark.soak
def test_a_deadlock_lasts_without_a_release_timer_and_is_broken_by_one(coupled: Coupled) -> None:
    """Figure 2 of Tang et al.: each of the first jobs holds most of a machine, and its mate waits for the other's."""
    here, there = coupled.here, coupled.there
    serve(coupled, "hold", HOLD)
    p, q = Work("p", LARGE, 0.1), Work("q", LARGE, 0.1)
    ids = [[coupled.submit(here, p)], [coupled.submit(there, q)]]
    for domain, (first,) in zip(coupled.lab, ids, strict=True):
        coupled.until_state(domain, first, "holding")
    for domain, job, mine in ((here, q, ids[0]), (there, p, ids[1])):
        mine.append(coupled.submit(domain, job))
        coupled.until_state(domain, mine[1], "queued")
    assert [known(domain)[mine[0]].state for domain, mine in zip(coupled.lab, ids, strict=True)] == ["holding"] * 2
    serve(coupled, "hold", RELEASE)
    check_pairs_ran_together(coupled.outcome(*ids), "p", "q")
    assert "its hold is over" in here.service.run("show", ids[0][0])


@pytest.mark.soak
def test_a_hold_that_is_released_is_taken_up_again_and_others_come_between(coupled: Coupled) -> None:
    here, there = coupled.here, coupled.there
    serve(coupled, "hold", RELEASE)
    first = coupled.submit(here, Work("p", LARGE, 0.1))
    coupled.until_job(here, first, lambda job: job.holds.holds > 1 and job.state == "holding", "to hold again")
    before = priority(here, first)
    alone = coupled.submit(here, Work(None, NODES, 0.1))
    coupled.until(lambda: has_run(here, alone), "the job without a mate to run between two holds")
    holds = known(here)[first].holds.holds
    coupled.until_job(here, first, lambda job: job.holds.holds > holds and job.state == "holding", "to hold once more")
    assert priority(here, first) == before
    check_pairs_ran_together(coupled.outcome([first], [coupled.submit(there, P)]), "p")


def test_a_yielded_jobs_nodes_are_others_and_after_enough_yields_it_holds_with_its_priority(coupled: Coupled) -> None:
    here, there = coupled.here, coupled.there
    serve(coupled, "yield", YIELD)
    busy = fill(here, NODES)
    first, alone = coupled.submit(here, Work("p", LARGE, 0.1)), coupled.submit(here, Work(None, NODES, 0.1))
    before = priority(here, first)
    here.cluster.scancel(busy)
    coupled.until(lambda: has_run(here, alone), "the job behind the one that yields to run")
    for yields in (1, 2):
        coupled.until_job(here, first, lambda job, yields=yields: has_yielded(job, yields), f"to yield {yields} times")
        begin_now(here, first)
    job = coupled.until_state(here, first, "holding")
    assert job.holds.yields == 2
    assert here.cluster.job(int(first))["Restarts"] == "2"
    assert priority(here, first) == before
    check_pairs_ran_together(coupled.outcome([first], [coupled.submit(there, P)]), "p")
