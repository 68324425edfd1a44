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
    max_examples=CASES // 10,
    derandomize=True,  # the same cases in every run
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def tens(*parts):
    """Ten cases an example: hypothesis takes about as long for an example as a schedule does."""
    return st.tuples(*[st.tuples(*parts)] * 10)


@pytest.mark.parametrize("layout", [None, (UNITS, 1)], ids=["flat", "partitioned"])
@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("policy", POLICIES)
def test_one_domain_is_scheduled_like_the_reference(policy, backfill, layout):
    @thorough
    @given(tens(ref_jobs(max_jobs=20)))
    def check(cases):
        for (jobs,) in cases:
            domain = RefDomain("A", UNITS, jobs, policy=POLICIES[policy], backfill=backfill, layout=layout)
            assert run_production([domain], []) == simulate([domain], [])

    check()


@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("schemes", SCHEMES, ids="-".join)
def test_pairs_are_coscheduled_like_the_reference(schemes, backfill):
    @thorough
    @given(tens(seeds, ref_jobs(max_jobs=10), ref_jobs(max_jobs=10)))
    def check(cases):
        for seed, *jobs in cases:
            check_pair(seed, jobs)

    def check_pair(seed, jobs):
        rng = Random(seed)
        layout = rng.choice([None, (UNITS, 1)])  # flat, partitioned
        domains = [
            ref_domain(rng, name, own, scheme=scheme, backfill=backfill, layout=layout)
            for name, scheme, own in zip("AB", schemes, jobs, strict=True)
        ]
        pairs = some_pairs(rng, domains, most=8)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check()


def test_three_domains_with_pairs_between_any_two():
    @thorough
    @given(tens(seeds, *[ref_jobs(max_jobs=8)] * 3))
    def check(cases):
        for seed, *jobs in cases:
            check_three(seed, jobs)

    def check_three(seed, jobs):
        rng = Random(seed)
        release_interval = rng.choice([0, 20])  # timer off, on
        domains = [
            ref_domain(rng, name, own, scheme=rng.choice(["hold", "yield", "off"]), release_interval=release_interval)
            for name, own in zip("ABC", jobs, strict=True)
        ]
        pairs = some_pairs(rng, domains, most=9)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check()
