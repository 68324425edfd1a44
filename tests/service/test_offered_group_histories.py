"""Histories of groups on three domains whose resource managers schedule: see `test_group_histories`."""

import pytest

from cosched.core.settings import OnUnreachable
from tests.service.offered_world import SlurmNode, SlurmWorld
from tests.service.test_group_histories import (
    HOLD,
    SCHEMES,
    UNTIL,
    YIELD,
    apart,
    check_nothing_is_left,
    groups_of,
    new_world,
    started_by,
)
from tests.service.test_histories import first_acquaintance
from tests.service.world import Faults
from tests.tiers import seeds, soaked

ALL = [*SCHEMES, (YIELD, HOLD, YIELD)]
FAULTS = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30)
PATIENT = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_grace": 10**6}


@pytest.fixture
def world(tmp_path):
    """Makes worlds, and closes them."""
    made: list[SlurmWorld] = []

    def make(*arguments, **settings) -> SlurmWorld:
        made.append(new_world(tmp_path, *arguments, kind=SlurmWorld, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("schemes", ALL)
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_without_faults_groups_start_together(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
    for group in groups_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in group.items()}) == 1


@pytest.mark.parametrize("schemes", soaked(ALL, 2))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_with_patience_enough_no_fault_parts_a_group(world, seed, schemes, monkeypatch):
    """All members start by one proposal, whatever is lost, and whoever dies."""
    monkeypatch.setattr(SlurmNode, "hook_patience", 1000)
    made = world(seed, schemes, Faults(), **PATIENT)
    first_acquaintance(made)
    made.faults = FAULTS
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
    assert all(len(proposals) == 1 and proposals != {""} for proposals in started_by(made).values())


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
    made = world(seed, schemes, Faults(), **PATIENT)
    first_acquaintance(made)
    made.faults = Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.03, outage=30, power=0.7, sync=3)
    made.run(until=UNTIL)
    check_nothing_is_left(made)
    assert apart(made) == []
