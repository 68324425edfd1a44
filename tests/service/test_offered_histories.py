"""Histories of two domains whose resource managers schedule: as `test_histories`, with offers, tries that take a while,
nodes that are lost, and hooks that lose patience.
"""

import random

import pytest

from cosched.core.settings import OnUnreachable
from tests.service.offered_world import SlurmNode, SlurmWorld
from tests.service.test_histories import (
    SCHEMES,
    check_every_job_ran_once,
    first_acquaintance,
    pairs_of,
    started_alone,
    worlds,
)
from tests.service.world import Faults
from tests.tiers import seeds, soaked

PATIENT = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_patience": 10**6}


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds(tmp_path, SlurmWorld) as make:
        yield make


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(2, 25))
def test_without_faults_mates_start_together(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run()
    check_every_job_ran_once(made)
    assert started_alone(made) == []
    for pair in pairs_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in pair.items()}) == 1


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(2, 25))
def test_with_patience_enough_no_fault_lets_a_job_start_alone(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
    made = world(seed, schemes, faults, **PATIENT)
    made.run()
    check_every_job_ran_once(made)
    assert started_alone(made) == []


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(2, 25))
def test_whatever_fails_every_job_runs_once(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlurmNode, "lost_nodes", 0.1)
    faults = Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03)
    made = world(seed, schemes, faults, peer_patience=20)
    made.run()
    check_every_job_ran_once(made)


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", soaked(range(6), 1))
def test_no_pair_comes_apart_if_every_outage_is_within_the_grace(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)
    made = world(seed, schemes, Faults(), peer_grace=random.Random(seed).choice([120, 300, 600]))
    first_acquaintance(made)
    made.faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30, goodbye=0.5, busy=0.05)
    made.run()
    check_every_job_ran_once(made)
    assert started_alone(made) == []


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", range(2))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)
    faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, power=0.7, sync=2)
    made = world(seed, schemes, faults, **PATIENT)
    made.run()
    check_every_job_ran_once(made)
