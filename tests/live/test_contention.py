"""Pairs of jobs under contention: more work than slots, submitted in different orders to two domains.

No periodic iteration takes place: all that follows from an event does so by itself.
"""

import pytest

from tests.live import workloads
from tests.live.workloads import MEETING, SCHEMES, Work
from tests.tiers import SEED, soaked

LOADS = (20110913, 15), (SEED, 200)  # seed and number of pairs: in the short tier, and in soak
ALONE, SLOTS = 10, 6
APART = 60.0  # seconds that mates' starts may lie apart on a machine where processes may stall; a safety net


def check_all_ran_together(outcome: workloads.Outcome, jobs: int) -> None:
    assert outcome.states == {"completed": jobs}
    assert set(outcome.runs.values()) == {1}
    assert len(outcome.runs) == jobs
    assert outcome.alone() == {}
    assert max(outcome.skews()) < APART


@pytest.mark.parametrize("of", soaked(LOADS, 1), ids=str)
@pytest.mark.parametrize("schemes", soaked([*SCHEMES, *MEETING], 1), ids="-".join)
def test_under_contention_every_pair_starts_together_and_every_job_runs_once(make_pair, schemes, of):
    seed, pairs = of
    pair = workloads.set_up(make_pair(), SLOTS, schemes, release_interval="2s", max_held_fraction=0.7).start()
    outcome = workloads.run(pair, workloads.contended(seed, pairs, ALONE))
    assert len(outcome.whys) == len(outcome.times) == pairs
    check_all_ran_together(outcome, 2 * (pairs + ALONE))


@pytest.mark.parametrize("schemes", [("hold", "hold"), ("yield", "yield")], ids="-".join)
def test_pairs_in_opposite_orders_on_two_single_slots_do_not_cross_for_ever(make_pair, schemes):
    """Mates end together, so both domains then look for the next job at the same moment, and for different pairs."""
    pair = workloads.set_up(make_pair(), 1, schemes, release_interval="1s", max_held_fraction=1).start()
    work = [Work(f"p{number}", 1, 0.1) for number in range(6)]
    check_all_ran_together(workloads.run(pair, (work, work[::-1])), 2 * len(work))
