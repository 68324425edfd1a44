"""Histories of two domains whose resource managers schedule and give slots: as `test_meeting_histories`."""

from __future__ import annotations

import itertools
from functools import partial

import pytest

from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from tests.service.offered_meeting_world import SlotNode, SlotWorld
from tests.service.test_histories import MEET, check_every_job_ran_once, pairs_of, started_alone, worlds
from tests.service.test_meeting_histories import die_at
from tests.service.world import Faults
from tests.tiers import seeds, soaked

OTHERS = [MEET, Scheme.HOLD, Scheme.YIELD]
PATIENT = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_patience": 10**5}  # so long a slot outlives a lost drop


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds(tmp_path, SlotWorld) as make:
        yield make


def check_no_slot_is_left(made: SlotWorld) -> None:
    assert [node.slots for node in made.nodes.values()] == [{}, {}]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("seed", seeds(2, 25))
def test_without_faults_mates_start_together(world, seed, other):
    made = world(seed, (MEET, other), Faults())
    made.run()
    check_every_job_ran_once(made)
    check_no_slot_is_left(made)
    assert started_alone(made) == []
    assert other == MEET or not made.slots
    for pair in pairs_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in pair.items()}) == 1


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("seed", seeds(2, 25))
def test_with_patience_enough_no_fault_lets_a_job_start_alone(world, seed, other, monkeypatch):
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
    made = world(seed, (MEET, other), faults, **PATIENT)
    made.run()
    check_every_job_ran_once(made)
    check_no_slot_is_left(made)
    assert started_alone(made) == []


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("seed", seeds(2, 25))
def test_whatever_fails_every_job_runs_once_and_no_slot_is_left(world, seed, other, monkeypatch):
    monkeypatch.setattr(SlotNode, "lost_nodes", 0.1)
    faults = Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03)
    made = world(seed, (MEET, other), faults, peer_patience=20)
    made.run()
    check_every_job_ran_once(made)
    check_no_slot_is_left(made)


@pytest.mark.parametrize("seed", seeds(1, 25))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, monkeypatch):
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, power=0.7, sync=2)
    made = world(seed, (MEET, MEET), faults, **PATIENT)
    made.run()
    check_every_job_ran_once(made)
    check_no_slot_is_left(made)


def agree_on_a_slot(made: SlotWorld, runs: int) -> None:
    """Job 1 of a is ready first, and alone; that of b can start with it when a's job 2 is to end, at 1106."""
    a, b = made.nodes.values()
    for at, node, job, nodes, run, pair in (
        (1000, a, 1, 6, 50, "p"),
        (1001, a, 2, 8, runs, None),
        (1002, a, 3, 9, 30, None),
        (1010, b, 1, 6, 50, "p"),
        (1011, b, 2, 8, 150, None),
    ):
        made.at(at, partial(node.submit, job, nodes, run, pair))
        node.expected.add(str(job))
    a.asks["2"] = 105


@pytest.mark.parametrize("every", soaked([7, 1], 1))
@pytest.mark.parametrize("runs", [40, 105, 112], ids=["early", "in time", "past its limit"])
@pytest.mark.parametrize("dies", ["a", "b"])
def test_a_domain_dies_at_each_step_of_a_negotiation_and_of_the_start(tmp_path, dies, runs, every, monkeypatch):
    monkeypatch.setattr(SlotNode, "hook_patience", 1000)
    settings = {"scheme": Scheme.YIELD, "slots": True, "on_peer_unreachable": OnUnreachable.YIELD}
    for step in itertools.count(1, every):
        (folder := tmp_path / str(step)).mkdir()
        made = SlotWorld(folder, step, dict.fromkeys("ab", CoschedulingSettings(**settings)), Faults(outage=7))
        done = die_at(made.nodes[dies], step)
        agree_on_a_slot(made, runs)
        made.run(until=3000)
        check_every_job_ran_once(made)
        check_no_slot_is_left(made)
        assert started_alone(made) == [], step
        one, other = (node.started_at["1"] for node in made.nodes.values())
        assert abs(one - other) <= made.faults.outage, step
        made.close()
        if done() < step:
            assert len(made.slots) == 2  # nobody died
            return


@pytest.mark.parametrize(
    ("runs", "first", "last"), [(40, 1071, 1078), (105, 1106, 1108), (112, 1113, 1118)], ids=["early", "due", "late"]
)
def test_a_pair_starts_at_its_slot_or_as_soon_as_nodes_are_free(tmp_path, runs, first, last):
    """Nodes that are free at 1041 go to job 3 at once, which would end before the slot."""
    made = SlotWorld(tmp_path, 1, dict.fromkeys("ab", CoschedulingSettings(scheme=Scheme.YIELD, slots=True)), Faults())
    agree_on_a_slot(made, runs)
    made.run(until=3000)
    check_every_job_ran_once(made)
    made.close()
    one, other = (node.started_at["1"] for node in made.nodes.values())
    assert first <= one == other <= last
