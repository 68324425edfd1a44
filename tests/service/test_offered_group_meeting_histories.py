"""Histories of groups on three domains whose resource managers schedule and give slots, or on some that do.

As `test_group_meeting_histories`. Domain c of some schedules by itself.
"""

from __future__ import annotations

import itertools

import pytest

from cosched.core.settings import CoschedulingSettings, OnUnreachable
from tests.service.offered_meeting_world import SlotNode, SlotWorld
from tests.service.test_group_histories import UNTIL, apart, groups_of, new_world, started_by
from tests.service.test_group_meeting_histories import (
    ALL,
    MIXTURES,
    PATIENT,
    YIELD,
    agree_on_a_slot,
    check_no_slot_is_left,
)
from tests.service.test_histories import first_acquaintance
from tests.service.test_meeting_histories import die_at
from tests.service.world import Faults
from tests.tiers import seeds, soaked

FAULTS = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)


@pytest.fixture
def world(tmp_path):
    """Makes worlds, and closes them."""
    made: list[SlotWorld] = []

    def make(*arguments, **settings) -> SlotWorld:
        made.append(new_world(tmp_path, *arguments, kind=SlotWorld, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def check_nothing_is_left(made: SlotWorld) -> None:
    check_no_slot_is_left(made)
    assert [node.slots for node in made.nodes.values()] == [{}, {}, {}]


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_without_faults_groups_start_together(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
    assert schemes == ALL or not made.slots
    for group in groups_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in group.items()}) == 1


@pytest.mark.parametrize("schemes", soaked(MIXTURES, 1))
@pytest.mark.parametrize("seed", seeds(1, 30))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, schemes, monkeypatch):
    """All members start by one proposal, whatever is lost, and whoever dies."""
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    made = world(seed, schemes, Faults(), **PATIENT)
    first_acquaintance(made)
    made.faults = FAULTS
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
    assert all(len(proposals) == 1 and proposals != {""} for proposals in started_by(made).values())


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
    made = world(seed, schemes, Faults(), **PATIENT)
    first_acquaintance(made)
    made.faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, outage=30, power=0.7, sync=3)
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []


@pytest.mark.parametrize("every", soaked([11, 1], 1))
@pytest.mark.parametrize("runs", soaked([105, 40, 112], 1), ids=["in time", "early", "past its limit"])
@pytest.mark.parametrize("dies", ["a", "b", "c"])
def test_a_domain_dies_at_each_step_of_an_agreement_and_of_the_start(tmp_path, dies, runs, every, monkeypatch):
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    settings = {"scheme": YIELD, "slots": True, "on_peer_unreachable": OnUnreachable.YIELD}
    for step in itertools.count(1, every):
        (folder := tmp_path / str(step)).mkdir()
        made = SlotWorld(folder, step, dict.fromkeys("abc", CoschedulingSettings(**settings)), Faults(outage=7))
        done = die_at(made.nodes[dies], step)
        agree_on_a_slot(made, runs)
        made.run(until=3000)
        check_nothing_is_left(made)
        assert apart(made) == [], step
        assert len(set.union(*started_by(made).values())) == 1, step
        started = [node.started_at["1"] for node in made.nodes.values()]
        assert max(started) - min(started) <= made.faults.outage, step
        made.close()
        if done() < step:
            assert made.slots  # nobody died
            return
