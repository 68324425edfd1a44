"""Histories of groups on three domains whose resource managers schedule and give slots, or on some that do.

As `test_group_meeting_histories`. Domain c of some schedules by itself.
"""

from __future__ import annotations

from functools import partial

import pytest

from tests.service.group_histories import (
    PATIENT,
    POWER_FAILURES,
    UNTIL,
    play_a_death_at_each_step,
    play_from_acquaintance,
    play_with_patience,
    play_without_faults,
    worlds_of_groups,
)
from tests.service.offered_meeting_world import SlotNode, SlotWorld
from tests.service.test_group_meeting_histories import ALL, MIXTURES, agree_on_a_slot, check_no_slot_is_left
from tests.service.world import Faults
from tests.tiers import seeds, soaked


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds_of_groups(tmp_path, SlotWorld) as make:
        yield make


def check_nothing_is_left(made: SlotWorld) -> None:
    check_no_slot_is_left(made)
    assert [node.slots for node in made.nodes.values()] == [{}, {}, {}]


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_without_faults_groups_start_together(world, seed, schemes):
    made = world(seed, schemes, Faults())
    play_without_faults(made, check_nothing_is_left)
    assert schemes == ALL or not made.slots


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 30))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    play_with_patience(world(seed, schemes, Faults(), **PATIENT), check_nothing_is_left)


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 30))
def test_whatever_fails_every_job_runs_once_and_no_slot_is_left(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlotNode, "lost_nodes", 0.1)
    made = world(seed, schemes, Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03), peer_patience=20)
    made.run(until=UNTIL)
    check_nothing_is_left(made)


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 0))
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    play_from_acquaintance(world(seed, schemes, Faults(), **PATIENT), POWER_FAILURES, check_nothing_is_left)


@pytest.mark.parametrize("every", soaked([11, 1], 1))
@pytest.mark.parametrize("runs", soaked([105, 40, 112], 1), ids=["in time", "early", "past its limit"])
@pytest.mark.parametrize("dies", ["a", "b", "c"])
def test_a_domain_dies_at_each_step_of_an_agreement_and_of_the_start(tmp_path, dies, runs, every, monkeypatch):
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    submit = partial(agree_on_a_slot, runs=runs)
    play_a_death_at_each_step(tmp_path, SlotWorld, dies, every, submit, check_nothing_is_left)
