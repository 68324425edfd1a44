"""Two real Slurm clusters whose pairs meet: a start before turn. How slots move is in test_coupled_group_slots."""

import random

import pytest

from deploy.slurm.lab import CoupledLab, Domain
from tests.live.coupled import story
from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled import Coupled
from tests.slurm.coupled_checks import check_nothing_is_left, reservations_of
from tests.slurm.laboratory import laboratory

NODES = 4
PAIRS = 30
WISHES = ("--gres=gpu:1", "--gres=gpu:2", "--licenses=matlab", "--gpus=2", "--constraint=fast", "--exclusive")
LIMIT = "--time=1"
SETTINGS = {"release_interval": 0, "max_yields": 0, "backoff": 30, "try_patience": 2.2, "poll_interval": 1}
PATIENCE = 300  # seconds, of hooks: more than a service needs to start on a busy machine
NEVER = "until false; do sleep 1; done"  # until it is cancelled, or comes to its limit
running, coupled = laboratory(
    schemes=("meet", "meet"), strict=False, options={"nodes": NODES}, patience=PATIENCE, **SETTINGS
)


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


@pytest.mark.soak
def test_pairs_that_ask_for_more_than_nodes_start_together_and_hold_nothing() -> None:
    """Every job asks for memory and GPUs, licences, a feature or whole nodes, as do others that share the nodes."""
    check_for_compiler()
    chance = random.Random(5)
    options = {"nodes": 2, "cpus": 4, "gpus": 2, "memory": 1000, "lines": ("Licenses=matlab:2",)}
    with CoupledLab(schemes=("meet", "meet"), options=options, patience=PATIENCE, **SETTINGS) as lab:
        coupled = Coupled(lab)
        jobs: dict[str, list[str]] = {domain.name: [] for domain in lab}
        for domain in lab:
            node = f"NodeName={domain.cluster.node(1)}"
            domain.cluster.scontrol("update", node, "AvailableFeatures=fast", "ActiveFeatures=fast")
        for pair in range(PAIRS):
            for domain in chance.sample(list(lab), 2):
                asked = [chance.choice(WISHES), f"--mem={chance.choice((100, 400))}", LIMIT]
                domain.cluster.sbatch(f"sleep {chance.randint(1, 4)}", *asked, "--output=/dev/null")
                jobs[domain.name].append(coupled.submit(domain, Work(f"p{pair}", 1, 1.0), *asked))
        coupled.check_started_together(*jobs.values())
        for domain in lab:
            assert not [event for job in jobs[domain.name] for event in story(domain, job, kinds=["held"])]
            assert not reservations_of(domain)
        check_nothing_is_left(coupled)
