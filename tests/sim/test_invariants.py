"""What must always hold (coscheduling.md), after every event of hundreds of coupled workloads, in soak of thousands."""

import random
from dataclasses import replace

import pytest

from tests.reference import RefDomain, RefJob
from tests.sim.exact import engine_for, outcomes, pairing_of, setup_of
from tests.sim.watched import WatchedEngine
from tests.tiers import seeds

NODES = 32
CASES = 50  # a batch


def random_jobs(rng: random.Random, count: int, load: float) -> list[RefJob]:
    """Jobs of 1 to 32 nodes, most of them small, with heavy-tailed run times, arriving at an offered load."""
    shapes = []
    for _ in range(count):
        run = max(1, int(rng.lognormvariate(6, 1.2)))
        requested = int(run * rng.choice((1, 1.2, 2, 5))) + rng.choice((0, 60))
        shapes.append((run, requested, min(NODES, rng.choice((1, 1, 2, 3, 4, 8, 8, 16, 20, 32)))))
    span = int(sum(run * nodes for run, _, nodes in shapes) / (NODES * load))
    return [RefJob(i + 1, rng.randint(0, span), run, max(run, asked), n) for i, (run, asked, n) in enumerate(shapes)]


def random_domain(rng: random.Random, name: str, scheme: str) -> RefDomain:
    return RefDomain(
        name,
        NODES,
        random_jobs(rng, 40, rng.choice((0.3, 0.5, 0.75, 0.95))),
        policy=rng.choice(("fcfs", "wfp", "sjf", "largest")),
        backfill=rng.choice(("easy", "easy", "easy", "conservative", "none")),
        layout=rng.choice((None, None, (NODES, 1), (8, 4))),
        scheme=scheme,
        release_interval=rng.choice((300, 1200)),
        release_jitter=rng.choice(("0", "0.25")),
        max_held_fraction=rng.choice(("0.2", "0.5", "1")),
        max_yields=rng.choice((0, 0, 3, 20)),
        yield_boost=rng.choice(("0", "0", "0.1")),
    )


def random_pairs(rng: random.Random, domains: list[RefDomain], share: float):
    """Pairs between any two domains: about `share` of the jobs of a domain, the n-th job with an n-th one."""
    free = {d.name: sorted(d.jobs, key=lambda job: job.submit) for d in domains}
    pairs = []
    for _ in range(max(1, round(share * 40 * len(domains) / 2))):
        one, other = rng.sample(sorted(free), 2)
        at = rng.randrange(min(len(free[one]), len(free[other])))
        pairs.append(((one, free[one].pop(at).job_id), (other, free[other].pop(at).job_id)))
    return pairs


def random_case(seed: int):
    rng = random.Random(seed)
    names = "ABC"[: rng.choice((2, 2, 3))]
    domains = [random_domain(rng, name, rng.choice(("hold", "yield"))) for name in names]
    return domains, random_pairs(rng, domains, rng.choice((0.025, 0.05, 0.10, 0.20, 0.33)))


@pytest.mark.parametrize("batch", seeds(1, 40))
def test_all_start_all_pairs_together_and_nothing_is_oversubscribed(batch):
    checked = 0
    for seed in range(batch * CASES, (batch + 1) * CASES):
        domains, pairs = random_case(seed)
        setups = [setup_of(domain) for domain in domains]
        engine = WatchedEngine(setups, pairing_of(pairs, setups))
        engine.run()
        checked += engine.reservations_checked
        assert engine.checks > 80, seed
        assert not engine.stalled, seed
        result = outcomes(engine)
        assert all(job.state == "completed" for job in result.values()), seed
        assert all(result[one].start == result[other].start for one, other in pairs), seed
    assert checked > 0


@pytest.mark.parametrize("seed", seeds(6, 100))
def test_a_domain_without_pairs_is_scheduled_as_if_alone(seed):
    domains, _ = random_case(seed)
    together = engine_for(domains, [])
    together.run()
    expected = {}
    for domain in domains:
        alone = engine_for([domain], [])
        alone.run()
        expected |= outcomes(alone)
    assert outcomes(together) == expected


@pytest.mark.parametrize("seed", seeds(6, 100))
def test_with_coscheduling_off_each_domain_is_scheduled_as_if_alone(seed):
    domains, pairs = random_case(seed)
    alone = engine_for(domains, [])
    alone.run()
    for off in range(len(domains)):
        schemes = [replace(d, scheme="off") if i == off or len(domains) == 2 else d for i, d in enumerate(domains)]
        name = domains[off].name
        linked = engine_for(schemes, [pair for pair in pairs if name in (pair[0][0], pair[1][0])])
        linked.run()
        assert outcomes(linked) == outcomes(alone)


def test_the_third_domain_does_not_notice_the_pairs_of_the_others():
    for seed in range(50):
        domains, pairs = random_case(seed)
        if len(domains) < 3:
            continue
        pairs = [pair for pair in pairs if {pair[0][0], pair[1][0]} == {"A", "B"}]
        linked, alone = engine_for(domains, pairs), engine_for(domains[2:], [])
        linked.run()
        alone.run()
        result = outcomes(linked)
        assert all(result[name] == outcome for name, outcome in outcomes(alone).items())
