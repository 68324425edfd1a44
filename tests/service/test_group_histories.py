"""Histories of live domains with groups: three domains, faults of the link, deaths at any point, recovery."""

from __future__ import annotations

import pytest

from cosched.core.settings import Scheme
from tests.service.group_histories import (
    PATIENT,
    POWER_FAILURES,
    UNTIL,
    check_nothing_is_left,
    play_from_acquaintance,
    play_with_a_slow_link,
    play_with_patience,
    play_without_faults,
    worlds_of_groups,
)
from tests.service.world import Faults
from tests.tiers import seeds, soaked

HOLD, YIELD = Scheme.HOLD, Scheme.YIELD
SCHEMES = [
    (HOLD, HOLD, YIELD), (HOLD, YIELD, YIELD), (HOLD, HOLD, HOLD), (YIELD, YIELD, YIELD), (YIELD, HOLD, HOLD),
    (YIELD, YIELD, HOLD),
]  # fmt: skip


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds_of_groups(tmp_path) as make:
        yield make


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 2))
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_without_faults_groups_start_at_the_same_instant(world, seed, schemes):
    play_without_faults(world(seed, schemes, Faults()), check_nothing_is_left)


def test_members_that_yield_do_not_ask_each_other_again_and_again_at_one_instant(world):
    made = world(2, (YIELD, YIELD, YIELD), Faults())
    made.run(until=UNTIL)


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 1))
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_a_slow_link_delays_a_start_by_no_more_than_a_call_takes(world, seed, schemes):
    play_with_a_slow_link(world(seed, schemes, Faults(delay=3)), check_nothing_is_left)


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 2))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, schemes):
    """No job starts twice, none is lost, none waits for ever."""
    made = world(seed, schemes, Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03), peer_patience=20)
    made.run(until=UNTIL)
    check_nothing_is_left(made)


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 1))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, schemes):
    play_with_patience(world(seed, schemes, Faults(), **PATIENT), check_nothing_is_left)


@pytest.mark.parametrize("schemes", soaked(SCHEMES, 0))
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes):
    play_from_acquaintance(world(seed, schemes, Faults(), **PATIENT), POWER_FAILURES, check_nothing_is_left)
