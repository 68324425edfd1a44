"""The schedule equals that of a slow, obvious reference, job for job: thousands of small cases, in soak a million."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.reference import RefDomain, simulate
from tests.sim.exact import POLICIES, UNITS, ref_domain, ref_jobs, run_production, some_pairs
from tests.tiers import SEED, soaked

CASES = 60, 25_000  # of each test: in the short tier, and in soak

seeds = st.integers(0, 2**32 - 1)  # of all settings and pairs; the jobs are hypothesis's own, and shrink

tiers = pytest.mark.parametrize("cases", soaked(CASES, 1))


def check_all(check, cases, *parts):
    """Check so many cases, ten an example: hypothesis takes about as long for an example as a schedule does."""
    thorough = settings(
        max_examples=cases // 10,
        derandomize=cases == CASES[0],  # the same ones in every run of the short tier
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )

    @seed(SEED)
    @thorough
    @given(st.tuples(*[st.tuples(*parts)] * 10))
    def check_ten(ten):
        for case in ten:
            check(*case)

    check_ten()


@pytest.mark.parametrize("layout", [None, (UNITS, 1)], ids=["flat", "partitioned"])
@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("policy", POLICIES)
@tiers
def test_one_domain_is_scheduled_like_the_reference(policy, backfill, layout, cases):
    def check(jobs):
        domain = RefDomain("A", UNITS, jobs, policy=POLICIES[policy], backfill=backfill, layout=layout)
        assert run_production([domain], []) == simulate([domain], [])

    check_all(check, cases, ref_jobs(max_jobs=20))


@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("schemes", [(a, b) for a in ("hold", "yield") for b in ("hold", "yield")], ids="-".join)
@tiers
def test_pairs_are_coscheduled_like_the_reference(schemes, backfill, cases):
    def check(drawn, *jobs):
        rng = Random(drawn)
        layout = rng.choice([None, (UNITS, 1)])  # flat, partitioned
        domains = [
            ref_domain(rng, name, own, scheme=scheme, backfill=backfill, layout=layout)
            for name, scheme, own in zip("AB", schemes, jobs, strict=True)
        ]
        pairs = some_pairs(rng, domains, most=8)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check_all(check, cases, seeds, *[ref_jobs(max_jobs=10)] * 2)


@tiers
def test_three_domains_with_pairs_between_any_two(cases):
    def check(drawn, *jobs):
        rng = Random(drawn)
        release_interval = rng.choice([0, 20])  # timer off, on
        domains = [
            ref_domain(rng, name, own, scheme=rng.choice(["hold", "yield", "off"]), release_interval=release_interval)
            for name, own in zip("ABC", jobs, strict=True)
        ]
        pairs = some_pairs(rng, domains, most=9)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check_all(check, cases, seeds, *[ref_jobs(max_jobs=8)] * 3)
