"""Random workloads: what must always hold (coscheduling.md, "What must always hold")."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from . import RefDomain, RefJob, World, simulate

UNITS = 8


def random_job(rng, job_id):
    run = rng.choice([1, 10, 100, 1000])
    requested = run * rng.choice([1, 1, 2, 5])
    return RefJob(job_id, rng.choice([0, 5, 100, 1200, rng.randrange(3000)]), run, requested, rng.randint(1, UNITS))


def random_domain(rng, name, jobs):
    return RefDomain(
        name,
        UNITS,
        [random_job(rng, job_id) for job_id in range(1, jobs + 1)],
        policy=rng.choice(["fcfs", "wfp", "sjf", "largest"]),
        backfill=rng.choice(["none", "easy", "conservative"]),
        layout=rng.choice([None, (UNITS, 1)]),
        scheme=rng.choice(["hold", "yield"]),
        release_interval=rng.choice([60, 1200]),
        release_jitter=rng.choice(["0", "0.25"]),
        max_held_fraction=rng.choice(["0.3", "0.5", "1"]),
        max_yields=rng.choice([0, 0, 3]),
        yield_boost=rng.choice(["0", "0.5"]),
    )


def random_case(seed, schemes=None):
    rng = random.Random(seed)
    jobs = rng.randint(1, 12)
    domains = [random_domain(rng, name, jobs) for name in "AB"]
    members = rng.sample(range(1, jobs + 1), rng.randint(0, jobs))
    pairs = [(("A", x), ("B", y)) for x, y in zip(members, rng.sample(members, len(members)), strict=True)]
    if schemes:
        domains = [replace(domain, scheme=scheme) for domain, scheme in zip(domains, schemes, strict=True)]
    return domains, pairs


def check_world(world: World) -> None:
    for domain in world.domains:
        config = domain.config
        domain.pool()  # asserts that no node is given to two jobs
        assert domain.held_nodes() <= math.floor(Fraction(config.max_held_fraction) * config.nodes)
        longest = config.release_interval * (1 + Fraction(config.release_jitter))
        for entry in domain.holding:
            assert entry.hold_began <= world.now <= entry.release <= entry.hold_began + longest
        assert len(domain.unsubmitted) + len(domain.queue) + len(domain.holding) + len(domain.running) == sum(
            entry.status != "ended" for entry in domain.entries
        )


@pytest.mark.parametrize("seed", range(50))
def test_with_coscheduling_off_each_schedule_is_its_schedule_alone(seed):
    domains, pairs = random_case(seed, schemes=("hold", "off"))
    together = simulate(domains, pairs)
    alone = [simulate([domain], []) for domain in domains]
    assert together == alone[0] | alone[1]
