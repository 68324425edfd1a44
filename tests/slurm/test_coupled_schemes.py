"""Two real Slurm clusters, coscheduled: holds, yields and forced releases, each as Slurm and as cosched show it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.slurm.lab import CoupledLab, Domain
from tests.live.workloads import Outcome, Work
from tests.slurm.coupled import Coupled, check_for_compiler, known

NODES = 4
SETTINGS = {"release_interval": 0, "max_held_fraction": 0.5, "max_yields": 0, "backoff": 1}
P, Q = (Work(name, 1, 0.1) for name in "pq")


@pytest.fixture(scope="module")
def running() -> Iterator[Coupled]:
    check_for_compiler()
    with CoupledLab(options={"nodes": NODES}, services=False, try_patience=1.2, poll_interval=1) as lab:
        yield Coupled(lab)


@pytest.fixture
def coupled(running: Coupled) -> Iterator[Coupled]:
    """No job is there, and no service runs."""
    yield running
    running.lab.clear()
    for domain in running.lab:
        domain.service.stop()


def serve(coupled: Coupled, schemes: tuple[str, str], **settings: object) -> None:
    coupled.lab.restart(schemes, **SETTINGS | settings)


def check_pairs_ran_together(outcome: Outcome, *pairs: str) -> None:
    assert outcome.states == {"completed": 2 * len(pairs)}
    assert sorted(outcome.runs.values()) == [1] * 2 * len(pairs)
    assert sorted(outcome.times) == sorted(pairs)
    assert outcome.alone() == {}


def fill(domain: Domain, nodes: int = NODES) -> int:
    """A job without a mate on these nodes, which runs until it is cancelled."""
    job = domain.cluster.sbatch("sleep 600", f"--nodes={nodes}", "--output=/dev/null")
    domain.cluster.wait_for_state(job, "RUNNING")
    return job


def holds_of(domain: Domain, job_id: str) -> int:
    return known(domain)[job_id].holds.holds


def test_a_job_holds_its_nodes_until_its_mate_has_some(coupled: Coupled) -> None:
    serve(coupled, ("hold", "hold"))
    here, there = coupled.here, coupled.there
    busy = fill(there)
    first = coupled.submit(here, P)
    coupled.until_state(here, first, "holding")
    mate = coupled.submit(there, P)
    assert here.cluster.state(int(first)) == "CONFIGURING"
    assert "HO" in here.service.run("pairs")
    alone = coupled.submit(here, Work(None, 3, 0.1))
    here.cluster.wait_for_state(int(alone), "COMPLETED")
    there.cluster.scancel(busy)
    check_pairs_ran_together(coupled.outcome([first], [mate]), "p")
    assert alone not in known(here)


def test_a_deadlock_lasts_without_a_release_timer_and_is_broken_by_one(coupled: Coupled) -> None:
    """Figure 2 of Tang et al.: each of the large jobs holds most of a machine, and its mate waits for the other's."""
    serve(coupled, ("hold", "hold"), max_held_fraction=1)
    p, q = Work("p", 3, 0.1), Work("q", 3, 0.1)
    here, there = coupled.here, coupled.there
    ids: list[list[str]] = [[], []]
    for domain, job, mine in ((here, p, ids[0]), (there, q, ids[1])):
        mine.append(coupled.submit(domain, job))
        coupled.until_state(domain, mine[0], "holding")
    for domain, job, mine in ((here, q, ids[0]), (there, p, ids[1])):
        mine.append(coupled.submit(domain, job))
        coupled.until_state(domain, mine[1], "queued")
    here.service.stop()
    coupled.lab.configure(release_interval=1)
    here.service.start()
    check_pairs_ran_together(coupled.outcome(*ids), "p", "q")
    assert sum(holds_of(domain, job) for domain, mine in zip(coupled.lab, ids, strict=True) for job in mine) > 2


def test_a_job_above_the_cap_yields_and_says_so(coupled: Coupled) -> None:
    serve(coupled, ("hold", "hold"))
    first = coupled.submit(coupled.here, Work("p", 3, 0.1))
    coupled.until_job(coupled.here, first, lambda job: job.reason == "HeldCap", "to be above the cap")
    small = coupled.submit(coupled.here, Work("q", 2, 0.1))
    coupled.until_state(coupled.here, small, "holding")
    mates = [coupled.submit(coupled.there, Work(pair, 1, 0.1)) for pair in "pq"]
    check_pairs_ran_together(coupled.outcome([first, small], mates), "p", "q")
    assert holds_of(coupled.here, first) == 0


def test_a_job_that_has_yielded_often_enough_holds_and_its_priority_is_what_it_was(coupled: Coupled) -> None:
    serve(coupled, ("yield", "yield"), max_yields=2)
    here, there = coupled.here, coupled.there
    busy = fill(here)
    first = coupled.submit(here, P)
    before = here.cluster.job(int(first))
    here.cluster.scancel(busy)
    job = coupled.until_state(here, first, "holding")
    assert job.holds.yields == 2
    after = here.cluster.job(int(first))
    assert [after[key] for key in ("Priority", "Nice")] == [before[key] for key in ("Priority", "Nice")]
    assert after["Restarts"] == "2"
    check_pairs_ran_together(coupled.outcome([first], [coupled.submit(there, P)]), "p")


def test_a_yielded_jobs_nodes_are_used_by_others(coupled: Coupled) -> None:
    serve(coupled, ("yield", "yield"), backoff=5)
    here, there = coupled.here, coupled.there
    first = coupled.submit(here, Work("p", NODES, 0.1))
    coupled.until_job(here, first, lambda job: job.state == "queued" and job.holds.yields > 0, "to yield")
    alone = coupled.submit(here, Work(None, NODES, 0.1))
    here.cluster.wait_for_state(int(alone), "COMPLETED")
    assert here.cluster.state(int(first)) == "PENDING"
    check_pairs_ran_together(coupled.outcome([first], [coupled.submit(there, P)]), "p")


def test_a_hold_that_is_released_is_taken_up_again_and_others_come_between(coupled: Coupled) -> None:
    serve(coupled, ("hold", "hold"), release_interval=1, max_held_fraction=1)
    here, there = coupled.here, coupled.there
    first = coupled.submit(here, Work("p", NODES, 0.1))
    before = coupled.until_job(here, first, lambda job: job.holds.holds > 1 and job.state == "holding", "to hold again")
    fields = here.cluster.job(int(first))
    alone = coupled.submit(here, Work(None, NODES, 0.1))
    here.cluster.wait_for_state(int(alone), "COMPLETED")
    job = coupled.until_job(here, first, lambda job: job.holds.holds > before.holds.holds, "to hold once more")
    assert job.holds.held_node_seconds >= NODES
    again = here.cluster.job(int(first))
    assert [again[key] for key in ("Priority", "Nice")] == [fields[key] for key in ("Priority", "Nice")]
    check_pairs_ran_together(coupled.outcome([first], [coupled.submit(there, P)]), "p")


def test_jobs_without_a_mate_are_scheduled_by_slurm_alone(coupled: Coupled) -> None:
    """With other comments, too; whether or not a service runs, and whatever holds beside them."""
    serve(coupled, ("hold", "hold"))
    here = coupled.here
    held = coupled.submit(here, Q)
    coupled.until_state(here, held, "holding")
    works = [Work(None, 1 + number % 3, 0.05) for number in range(6)]
    alone = [coupled.submit(here, work, f"--comment=flow {number}") for number, work in enumerate(works)]
    here.service.kill()
    alone += [coupled.submit(here, work) for work in works]
    for job in alone:
        here.cluster.wait_for_state(int(job), "COMPLETED")
    here.service.start()
    coupled.until_state(here, held, "holding")
    assert held in known(here)
    assert not set(alone) & set(known(here))
    assert not here.hooks.messages()
