"""The schedule equals that of a slow, obvious reference, job for job, on thousands of small cases."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reference import RefDomain, simulate
from tests.sim.exact import POLICIES, UNITS, ref_domain, ref_jobs, run_production, some_pairs

CASES = 2000
SCHEMES = [(a, b) for a in ("hold", "yield") for b in ("hold", "yield")]

seeds = st.integers(0, 2**32 - 1)  # of all settings and pairs; the jobs are hypothesis's own, and shrink

thorough = settings(
    max_examples=CASES,
    derandomize=True,  # the same cases in every run
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("layout", [None, (UNITS, 1)], ids=["flat", "partitioned"])
@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("policy", POLICIES)
def test_one_domain_is_scheduled_like_the_reference(policy, backfill, layout):
    @thorough
    @given(ref_jobs(max_jobs=20))
    def check(jobs):
        domain = RefDomain("A", UNITS, jobs, policy=POLICIES[policy], backfill=backfill, layout=layout)
        assert run_production([domain], []) == simulate([domain], [])

    check()


@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_pairs_are_coscheduled_like_the_reference(schemes, backfill):
    @thorough
    @given(seeds, ref_jobs(max_jobs=10), ref_jobs(max_jobs=10))
    def check(seed, ours, theirs):
        rng = Random(seed)
        layout = rng.choice([None, (UNITS, 1)])  # flat, partitioned
        domains = [
            ref_domain(rng, name, jobs, scheme=scheme, backfill=backfill, layout=layout)
            for name, scheme, jobs in zip("AB", schemes, (ours, theirs), strict=True)
        ]
        pairs = some_pairs(rng, domains, most=8)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check()


def test_three_domains_with_pairs_between_any_two():
    @thorough
    @given(seeds, *[ref_jobs(max_jobs=8)] * 3)
    def check(seed, one, other, third):
        rng = Random(seed)
        release_interval = rng.choice([0, 20])  # timer off, on
        domains = [
            ref_domain(rng, name, jobs, scheme=rng.choice(["hold", "yield", "off"]), release_interval=release_interval)
            for name, jobs in zip("ABC", (one, other, third), strict=True)
        ]
        pairs = some_pairs(rng, domains, most=9)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check()
