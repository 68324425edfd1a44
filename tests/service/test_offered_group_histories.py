"""Histories of groups on three domains whose resource managers schedule: see `test_group_histories`."""

import pytest

from tests.service.group_histories import (
    PATIENT,
    POWER_FAILURES,
    UNTIL,
    check_nothing_is_left,
    play_from_acquaintance,
    play_with_patience,
    play_without_faults,
    worlds_of_groups,
)
from tests.service.offered_world import SlurmNode, SlurmWorld
from tests.service.test_group_histories import HOLD, SCHEMES, YIELD
from tests.service.world import Faults
from tests.tiers import seeds, soaked

ALL = [*SCHEMES, (YIELD, HOLD, YIELD)]


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds_of_groups(tmp_path, SlurmWorld) as make:
        yield make


@pytest.mark.parametrize("schemes", ALL)
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_without_faults_groups_start_together(world, seed, schemes):
    play_without_faults(world(seed, schemes, Faults()), check_nothing_is_left)


@pytest.mark.parametrize("schemes", soaked(ALL, 2))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)
    play_with_patience(world(seed, schemes, Faults(), **PATIENT), check_nothing_is_left)


@pytest.mark.parametrize("schemes", soaked(ALL, 2))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_whatever_fails_every_job_runs_once_and_nothing_is_held_for_ever(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlurmNode, "lost_nodes", 0.1)
    made = world(seed, schemes, Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03), peer_patience=20)
    made.run(until=UNTIL)
    check_nothing_is_left(made)


@pytest.mark.parametrize("schemes", soaked(ALL, 1))
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, schemes, monkeypatch):
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)
    play_from_acquaintance(world(seed, schemes, Faults(), **PATIENT), POWER_FAILURES, check_nothing_is_left)
