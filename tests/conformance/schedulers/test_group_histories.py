"""Histories of three live domains with groups and any scheduler: faults of the link, deaths at any point, recovery."""

from __future__ import annotations

import pytest

from tests.conformance.schedulers.histories import (
    ANYTHING,
    FAULTS,
    HOLD,
    MEET,
    PATIENT,
    POWER_FAILURES,
    YIELD,
    apart,
    of_cases,
    run,
    run_from_acquaintance,
    spread,
    started_by,
)
from tests.service.offered_world import SlurmNode
from tests.service.world import Faults
from tests.tiers import seeds, soaked

SCHEMES = [
    (HOLD, HOLD, YIELD), (YIELD, YIELD, YIELD), (HOLD, YIELD, YIELD), (HOLD, HOLD, HOLD), (YIELD, HOLD, HOLD),
    (YIELD, YIELD, HOLD), (YIELD, HOLD, YIELD),
]  # fmt: skip
ALL_MEET = (MEET, MEET, MEET)
MIXTURES = [ALL_MEET, (YIELD, MEET, MEET), (MEET, MEET, HOLD), (MEET, HOLD, YIELD)]
MEETING = [SCHEMES[0], *MIXTURES, *SCHEMES[1:]]
ALL = {
    "batch": MEETING,
    "fluid": MEETING,
    "express": [SCHEMES[0], MIXTURES[1], *SCHEMES[1:]],  # domain a gives no slots
    "external": MEETING,
}


@of_cases(2, ALL)
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_without_faults_groups_start_at_the_same_instant(world, seed, kind, schemes):
    made = world(kind, seed, schemes, Faults())
    run(made)
    assert apart(made) == []
    assert spread(made) == 0
    assert schemes == ALL_MEET or not made.slots


def test_members_that_yield_do_not_ask_each_other_again_and_again_at_one_instant(world):
    run(world("batch", 2, (YIELD, YIELD, YIELD), Faults()))


@of_cases(1, ALL, "batch", "fluid", "express")
@pytest.mark.parametrize("delay", soaked([3, 20], 1))
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_a_slow_link_delays_a_start_by_no_more_than_a_call_takes(world, seed, delay, kind, schemes):
    made = world(kind, seed, schemes, Faults(delay=delay), peer_patience=60)
    run(made)
    assert spread(made) <= delay


def test_groups_come_to_an_end_though_calls_take_longer_than_any_pause_of_a_look(world):
    """Each domain always has a job that asks, and keeps nodes for as long as that takes: members find none free."""
    run(world("batch", 770011001, (MEET, MEET, HOLD), Faults(delay=20), peer_patience=60))


@of_cases(2, ALL)
@pytest.mark.parametrize("seed", seeds(1, 30))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, kind, schemes, monkeypatch):
    """No job starts twice, none is lost, none waits for ever."""
    monkeypatch.setattr(SlurmNode, "lost_nodes", 0.1)
    monkeypatch.setattr(SlurmNode, "hook_patience", 10)
    run(world(kind, seed, schemes, ANYTHING, peer_patience=20))


@of_cases(1, ALL)
@pytest.mark.parametrize("seed", seeds(1, 30))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, kind, schemes):
    """All members start by one proposal, whatever is lost, and whoever dies."""
    made = world(kind, seed, schemes, Faults(), **PATIENT)
    run_from_acquaintance(made, FAULTS)
    assert all(len(proposals) <= 1 and proposals != {""} for proposals in started_by(made))


@of_cases(0, ALL)
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, kind, schemes):
    run_from_acquaintance(world(kind, seed, schemes, Faults(), **PATIENT), POWER_FAILURES)
