"""The schedule equals that of a slow, obvious reference, job for job, on thousands of small cases."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reference import RefDomain, simulate
from tests.sim.exact import POLICIES, UNITS, ref_domains, ref_jobs, run_production, some_pairs

CASES = 2000
LAYOUTS = st.sampled_from([None, (UNITS, 1)])  # flat, partitioned
SCHEMES = [(a, b) for a in ("hold", "yield") for b in ("hold", "yield")]

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
    @given(st.data())
    def check(data):
        layout = data.draw(LAYOUTS)
        domains = [
            data.draw(ref_domains(name, 10, scheme=scheme, backfill=backfill, layout=layout))
            for name, scheme in zip("AB", schemes, strict=True)
        ]
        pairs = some_pairs(data.draw, domains, most=8)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check()


def test_three_domains_with_pairs_between_any_two():
    @thorough
    @given(st.data())
    def check(data):
        release_interval = data.draw(st.sampled_from([0, 20]))  # timer off, on
        schemes = data.draw(st.lists(st.sampled_from(["hold", "yield", "off"]), min_size=3, max_size=3))
        domains = [
            data.draw(ref_domains(name, 8, scheme=scheme, release_interval=release_interval))
            for name, scheme in zip("ABC", schemes, strict=True)
        ]
        pairs = some_pairs(data.draw, domains, most=9)
        assert run_production(domains, pairs) == simulate(domains, pairs)

    check()
