"""Two real Slurm clusters whose pairs meet: a slot that moves, and a start before turn; see those of groups."""

from collections.abc import Iterator

import pytest

from deploy.slurm.lab import CoupledLab, Domain
from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled import Coupled
from tests.slurm.coupled_checks import check_nothing_is_left, reservations_of, whys

NODES = 4
LIMIT = "--time=1"
SETTINGS = {"release_interval": 0, "max_yields": 0, "backoff": 30, "try_patience": 2.2, "poll_interval": 1}
PATIENCE = 300  # seconds, of hooks: more than a service needs to start on a busy machine
NEVER = "until false; do sleep 1; done"  # until it is cancelled, or comes to its limit


@pytest.fixture(scope="module")
def running() -> Iterator[Coupled]:
    check_for_compiler()
    options = {"nodes": NODES}
    with CoupledLab(schemes=("meet", "meet"), options=options, patience=PATIENCE, **SETTINGS) as lab:
        yield Coupled(lab)


@pytest.fixture
def coupled(running: Coupled) -> Iterator[Coupled]:
    yield running
    running.lab.clear()


def fill(domain: Domain, nodes: int) -> int:
    """A job without a mate that runs on so many nodes."""
    job = domain.cluster.sbatch(NEVER, f"--nodes={nodes}", LIMIT, "--output=/dev/null")
    domain.cluster.wait_for_state(job, "RUNNING")
    return job


def has_slot(coupled: Coupled, pair: str) -> tuple[str, str, int]:
    """The jobs of a pair that have a slot: each has been ready, when its mate's nodes were not free; and who is in
    their way.
    """
    here, there = coupled.lab
    first = fill(here, NODES)
    its = coupled.submit(there, Work(pair, 2, 1.0), LIMIT)
    coupled.until_job(there, its, lambda job: job.holds.yields > 0, "has yielded")
    second = fill(there, NODES - 1)
    ours = coupled.submit(here, Work(pair, NODES, 1.0), LIMIT)
    here.cluster.scancel(first)
    for domain, job in ((here, ours), (there, its)):
        coupled.until_job(domain, job, lambda job: job.slot is not None, "has a slot")
        coupled.until(lambda domain=domain: reservations_of(domain), "its reservation")
    return ours, its, second


@pytest.mark.soak  # it waits for a minute's plans
def test_a_slot_moves_and_both_start_as_soon_as_nodes_are_free_on_both_sides(coupled: Coupled) -> None:
    ours, its, second = has_slot(coupled, "early")
    coupled.there.cluster.scancel(second)
    coupled.check_started_together([ours], [its])
    assert "at its slot" in whys(coupled.here, ours) + whys(coupled.there, its)
    check_nothing_is_left(coupled)
    assert [reservations_of(domain) for domain in coupled.lab] == [[], []]


def test_a_wanted_job_starts_before_its_turn_and_pushes_the_first_one_a_little(coupled: Coupled) -> None:
    here, there = coupled.lab
    runs = fill(there, 3)
    first = there.cluster.sbatch("true", f"--nodes={NODES}", LIMIT, "--output=/dev/null")
    its = coupled.submit(there, Work("wanted", 1, 1.0), LIMIT)  # would end after `runs`
    ours = coupled.submit(here, Work("wanted", 1, 1.0), LIMIT)
    coupled.check_started_together([ours], [its])
    assert there.cluster.state(first) == "PENDING"
    there.cluster.scancel(runs)
    there.cluster.wait_for_state(first, "COMPLETED")
    check_nothing_is_left(coupled)
