"""Where domains meet, the schedule equals that of the slow reference too, job for job."""

from random import Random

import pytest

from tests.reference import simulate
from tests.reference.meet_cases import CASES as BY_HAND
from tests.reference.test_reference_meet_invariants import random_meet_case
from tests.sim.exact import POLICIES, UNITS, ref_domain, run_production, some_jobs, some_pairs
from tests.tiers import SEED, soaked

POOLS = {"flat": None, "partitioned": (UNITS, 1)}
# What each domain has of its own; many meet, since it takes two to agree on a slot.
SCHEMES = [
    {"scheme": "meet"}, {"scheme": "meet"}, {"scheme": "meet"}, {"scheme": "hold"}, {"scheme": "yield"},
    {"scheme": "off"}, {"scheme": "hold", "mate_budget": "0.29"}, {"scheme": "yield", "mate_budget": "2"},
    {"scheme": "hold", "slots": True}, {"scheme": "yield", "slots": True},
    {"scheme": "off", "mate_budget": "0.5", "slots": True},
]  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_the_cases_worked_out_by_hand(name):
    domains, pairs = BY_HAND[name].domains(), BY_HAND[name].mates()
    assert run_production(domains, pairs) == simulate(domains, pairs)


@pytest.mark.parametrize("names", ["AB", "ABC"])
@pytest.mark.parametrize("cases", soaked((60, 20_000), 1))
def test_the_workloads_of_the_reference(cases, names):
    for seed in range(cases):
        domains, pairs = random_meet_case(seed, names)
        assert run_production(domains, pairs) == simulate(domains, pairs), f"seed {seed}"


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("cases", soaked((6, 2_000), 1))
def test_domains_of_all_kinds(cases, policy, backfill, pool):
    for number in range(cases):
        case = f"{SEED if cases > 6 else ''}/{policy}/{backfill}/{pool}/{number}"
        rng = Random(case)
        names = "ABC"[: rng.choice([2, 2, 3])]
        timer = {"release_interval": 0} if rng.random() < 0.1 else {}
        domains = [_domain(rng, name, policy, backfill, pool, timer) for name in names]
        pairs = some_pairs(rng, domains, most=10)
        assert run_production(domains, pairs) == simulate(domains, pairs), case


def _domain(rng, name, policy, backfill, pool, timer):
    """The first domain is as asked for, the others are of any kind."""
    fixed = rng.choice(SCHEMES) | timer
    if name == "A":
        fixed |= {"policy": POLICIES[policy], "backfill": backfill, "layout": POOLS[pool]}
    return ref_domain(rng, name, some_jobs(rng, 12), **fixed)
