"""Pairs of compiled domains that meet start as in the slow, independent reference, job for job."""

from dataclasses import replace

import pytest

from tests.core.meeting.pairs import run_pairs
from tests.reference import simulate
from tests.reference.test_reference_meet_invariants import random_meet_case
from tests.tiers import soaked

CASES = 40, 20_000


@pytest.mark.parametrize("names", ["AB", "ABC"])
@pytest.mark.parametrize("cases", soaked(CASES, 1))
def test_pairs_meet_like_the_reference(cases, names):
    for seed in range(cases):
        domains, pairs = random_meet_case(seed, names)
        domains = [
            replace(
                domain,
                scheme="yield",
                max_yields=0,
                yield_boost="0",
                slots=domain.slots or domain.mate_budget == "0",
            )
            for domain in domains
        ]
        expected = {name: (of.ready, of.start, of.yields) for name, of in simulate(domains, pairs).items()}
        assert run_pairs(domains, pairs) == expected, f"seed {seed}"
