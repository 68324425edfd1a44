"""Two real Slurm clusters whose pairs meet: a start before turn. How slots move is in test_coupled_group_slots."""

from collections.abc import Iterator

import pytest

from deploy.slurm.lab import CoupledLab, Domain
from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled import Coupled
from tests.slurm.coupled_checks import check_nothing_is_left

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
