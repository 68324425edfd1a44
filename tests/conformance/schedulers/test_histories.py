"""Histories of two live domains with pairs, or three with groups, with any scheduler: faults of the link, deaths at any
point, recovery.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cosched.core.settings import Scheme
from tests.conformance.schedulers.histories import (
    ANYTHING,
    FAULTS,
    HOLD,
    MEET,
    PATIENT,
    POWER_FAILURES,
    SCHEMES,
    YIELD,
    apart,
    first_acquaintance,
    of_cases,
    run,
    run_from_acquaintance,
    spread,
    started_by,
)
from tests.service.offered_world import SlurmNode
from tests.service.world import Faults
from tests.tiers import seeds, soaked

MEETING = [SCHEMES[0], (MEET, MEET), (MEET, HOLD), (YIELD, MEET), *SCHEMES[1:]]
AT_ONCE = ("batch", "fluid", "express", "molding", "heterogeneous")  # whose answers take no time
KINDS = (*AT_ONCE, "external")
PAIRS = dict.fromkeys(KINDS, MEETING) | {"molding": SCHEMES}  # no domain gives slots there
OF_THE_PAPER = dict.fromkeys(KINDS, SCHEMES)
OF_THREE = [
    (HOLD, HOLD, YIELD), (YIELD, YIELD, YIELD), (HOLD, YIELD, YIELD), (HOLD, HOLD, HOLD), (YIELD, HOLD, HOLD),
    (YIELD, YIELD, HOLD), (YIELD, HOLD, YIELD),
]  # fmt: skip
MIXTURES = [(MEET, MEET, MEET), (YIELD, MEET, MEET), (MEET, MEET, HOLD), (MEET, HOLD, YIELD)]
MEETING_GROUPS = [OF_THREE[0], *MIXTURES, *OF_THREE[1:]]
GROUPS = dict.fromkeys(KINDS, MEETING_GROUPS) | {"molding": OF_THREE}


@of_cases(0, PAIRS, GROUPS)
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_without_faults_mates_start_at_the_same_instant(world, seed, kind, schemes):
    made = world(kind, seed, schemes, Faults())
    run(made)
    assert spread(made) == 0
    assert apart(made) == []
    assert set(schemes) == {MEET} or not made.slots


def test_members_that_yield_do_not_ask_each_other_again_and_again_at_one_instant(world):
    run(world("batch", 2, (YIELD, YIELD, YIELD), Faults()))


@of_cases(1, PAIRS, GROUPS, only=AT_ONCE)
@pytest.mark.parametrize("delay", soaked([3, 20], 1))
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_a_slow_link_delays_the_second_start_by_no_more_than_an_answer_takes(world, seed, delay, kind, schemes):
    made = world(kind, seed, schemes, Faults(delay=delay), peer_patience=60)
    run(made)
    assert spread(made) <= delay


def test_groups_come_to_an_end_though_calls_take_longer_than_any_pause_of_a_look(world):
    """Each domain always has a job that asks, and keeps nodes for as long as that takes: members find none free."""
    run(world("batch", 770011001, (MEET, MEET, HOLD), Faults(delay=20), peer_patience=60))


@of_cases(0, PAIRS, GROUPS)
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, kind, schemes, monkeypatch):
    """coscheduling.md, What must always hold, 1 and 5: no job starts twice, none is lost, none waits for ever."""
    monkeypatch.setattr(SlurmNode, "lost_nodes", 0.1)
    monkeypatch.setattr(SlurmNode, "hook_patience", 10)
    run(world(kind, seed, schemes, ANYTHING, peer_patience=20))


@of_cases(1, PAIRS, GROUPS)
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_with_patience_enough_no_fault_lets_a_job_start_alone(world, seed, kind, schemes):
    """2: where mates do not start together, a fault was in force; here no job gives up on its mate for one."""
    made = world(kind, seed, schemes, Faults(), **PATIENT)
    run_from_acquaintance(made, FAULTS)
    assert all(len(proposals) <= 1 for proposals in started_by(made)), "at a slot all start, or none"
    assert len(schemes) == 2 or {""} not in started_by(made)  # a pair may start by Algorithm 1


@of_cases(0, OF_THE_PAPER)
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_no_pair_comes_apart_if_every_outage_is_within_the_grace(world, seed, kind, schemes):
    """Here jobs start if a peer is away. An outage lasts at most 30 s; but a domain may be down whenever the other one
    is up, a few times in a row."""
    made = world(kind, seed, schemes, Faults(), peer_grace=random.Random(seed).choice([120, 300, 600]))
    run_from_acquaintance(made, replace(FAULTS, goodbye=0.5, busy=0.05))


@of_cases(1, OF_THE_PAPER)
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_when_a_peer_stays_away_its_mates_start_alone_after_the_grace(world, seed, kind, schemes):
    made = world(kind, seed, schemes, Faults(), peer_grace=120)
    first_acquaintance(made)
    a, b = made.nodes.values()
    made.at(1100, b.end_for_good)
    made.run(until=5000)
    alone = [job for job, why in a.why.items() if why == "PeerUnreachable"]
    assert alone
    assert min(a.started_at[job] for job in alone) >= 1100 + 120
    assert a.is_over()


@of_cases(0, PAIRS)
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_a_power_failure_takes_back_nothing_that_has_left_a_domain(world, seed, kind, schemes):
    """Jobs run once though turns are lost: what was launched, answered and promised had been brought to disk."""
    run(world(kind, seed, schemes, replace(POWER_FAILURES, outage=60), peer_patience=20))


@of_cases(None, GROUPS)
@pytest.mark.parametrize("seed", seeds(1, 15))
def test_with_patience_enough_no_power_failure_parts_a_group(world, seed, kind, schemes):
    run_from_acquaintance(world(kind, seed, schemes, Faults(), **PATIENT), POWER_FAILURES)


@of_cases(None, PAIRS, only=AT_ONCE)
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_with_patience_enough_no_power_failure_lets_a_job_start_alone(world, seed, kind, schemes):
    """A call that was taken back may have started the mate: the job starts when its domain is there again, late."""
    made = world(kind, seed, schemes, Faults(), **PATIENT)
    first_acquaintance(made)
    made.faults = replace(POWER_FAILURES, kill=0.02)
    run(made)
    assert [alone for alone in apart(made) if "its mate started before it" not in alone] == []
    assert all(len(proposals) <= 1 for proposals in started_by(made)), "at a slot both start, or none"


@pytest.mark.parametrize("seed", seeds(0, 25))
@pytest.mark.parametrize("kind", ["batch", "fluid"])
def test_mates_of_a_domain_that_does_not_coschedule_start_by_themselves(world, seed, kind):
    run(world(kind, seed, (MEET, Scheme.OFF), ANYTHING, peer_patience=20))


@pytest.mark.parametrize("seed", seeds(1, 25))
def test_every_start_was_counted(world, seed):
    """Once, in memory and on disk, whatever has failed; if the domain has a budget."""
    made = world("batch", seed, (MEET, MEET), POWER_FAILURES, peer_patience=20)
    run(made)
    for node in made.nodes.values():
        kept = [starts for _, _, starts in node.store.starts()]
        assert sum(starts.started for starts in kept) == len(node.expected)
        assert kept == [*node.domain.scheduler.starts.by_owner(made.now).values()]  # all in one hour, of one owner


def test_the_histories_have_runs_that_were_preempted(world):
    made = world("express", 1, (HOLD, HOLD), Faults())
    run(made)
    assert made.nodes["a"].stopped.total() > 0
