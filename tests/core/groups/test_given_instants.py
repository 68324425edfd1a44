"""Groups whose common instant is given: all start at it, or nobody, whatever gets lost (coscheduling.md)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from cosched.core.effects import CancelJob, Timer
from cosched.core.events import Finished, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import GetMember, MateProblem, Window
from cosched.core.settings import OnMemberLost
from cosched.core.story import Why
from tests.tiers import SEED, soaked

from . import planned
from .planned import EARLIER, Planned, offered, slot_comes, slots
from .test_histories import check
from .test_slots import history
from .world import settle

AT = 100
WINDOWS = (Window("B", 0, 30), Window("C", -20, 0))
agreed = partial(planned.agreed, at=AT)


def passed(world: Planned) -> None:
    """Let the given instant pass; then the schedulers look again."""
    world.now = AT + 1
    for name in world.cores:
        world.due(name, Timer.PATIENCE)
        offered(world, name)


def test_all_have_slots_at_the_given_instant_though_all_could_start_now():
    world = agreed({"A": 7, "B": 7, "C": 7})
    assert slots(world) == [AT, AT, AT]
    assert world.started == []


def test_each_starts_within_its_window():
    assert slots(agreed({"A": 7, "B": 120, "C": 90}, WINDOWS)) == [100, 120, 90]


def test_if_one_cannot_nobody_has_a_slot():
    assert slots(agreed({"A": 7, "B": 101, "C": 7})) == [None, None, None]
    assert slots(agreed({"A": 7, "B": 131, "C": 7}, WINDOWS)) == [None, None, None]


def test_who_can_in_the_end_agrees_in_a_later_turn():
    world = agreed({"A": 7, "B": 101, "C": 7})
    world.free["B"] = 50
    offered(world, "A")
    assert slots(world) == [AT, AT, AT]


def test_the_instant_never_changes():
    world = agreed({"A": 7, "B": 7, "C": 7})
    offered(world, "A", EARLIER)
    assert slots(world) == [AT, AT, AT]
    assert world.moved == []


def test_all_start_at_it():
    world = agreed({"A": 7, "B": 7, "C": 7})
    slot_comes(world, "C")
    assert world.started_at == {"A": AT, "B": AT, "C": AT}
    assert not world.timers.keys() & {(name, Timer.PATIENCE) for name in "ABC"}


def test_when_it_has_passed_all_wait_for_their_owner():
    world = agreed({"A": 7, "B": 101, "C": 7})
    passed(world)
    assert world.started == []
    assert [world.job(name).yields for name in "ABC"] == [2, 2, 2]
    world.feed("A", Unlinked("j"))
    offered(world, "A")
    assert world.started == ["A"]


def test_when_it_has_passed_a_job_that_may_be_alone_starts_and_the_others_follow():
    world = agreed({"A": 7, "B": 101, "C": 7})
    world.job("A").group.or_alone = True
    passed(world)
    assert world.started == ["A", "B", "C"]


def test_when_it_has_passed_jobs_may_be_cancelled():
    world = agreed({"A": 7, "B": 101, "C": 7})
    core = world.cores["A"]
    core.ledger.configure(replace(core.settings, on_member_lost=OnMemberLost.CANCEL))
    world.now = AT + 1
    assert CancelJob("j") in core.gathering._stop(world.job("A"), Why.INSTANT_PASSED, {}, world.now)


def test_with_all_others_lost_a_job_does_not_start_before_it():
    world = agreed({"A": 7, "B": 101, "C": 7})
    for name in "BC":
        world.feed(name, Finished("j", JobState.CANCELLED))
    settle(world)
    offered(world, "A")
    assert world.started == []
    assert world.state("A") is JobState.QUEUED


def test_members_that_give_another_instant_are_of_no_group():
    core = agreed({"A": 7, "B": 7}).cores["B"]
    question = GetMember("j", "g", ("A", "B"), "", (), AT)
    assert core.names.answer("A", question).problem is None
    assert core.names.answer("A", question._replace(at=AT + 1)).problem is MateProblem.OTHER_WINDOWS
    assert core.names.answer("A", question._replace(at=None)).problem is MateProblem.OTHER_WINDOWS
    core.ledger.configure(replace(core.settings, slots=False))
    assert core.names.answer("A", question).problem is MateProblem.NO_SLOTS


def test_it_is_by_the_wall_clock():
    world = Planned("AB", at=AT + 3600)
    for core in world.cores.values():
        core.ledger.from_wall = lambda instant: instant - 3600
    for name in "AB":
        offered(world, name)
    assert slots(world) == [AT, AT]


# Messages in any order, lost and doubled; domains that die; then a calm time


LATER = 10**6


def played(seed: int) -> Planned:
    """All start, none before its window; or nobody, if some cannot in time, after faults."""

    def make(domains: str, patience: int) -> Planned:
        return Planned(domains, patience, WINDOWS if seed % 2 else (), at=LATER)

    try:
        world = history(seed, make, check)
        in_time = (
            max(world.now, world.free[name]) <= LATER + world.job(name).group.window(name)[1] for name in world.cores
        )
        if world.started or all(in_time):
            assert len(world.started) == len(world.cores), {name: world.state(name).name for name in world.cores}
        for name, at in world.started_at.items():
            assert at >= LATER + world.job(name).group.window(name)[0]
    except AssertionError as error:
        raise AssertionError(f"seed {seed}") from error
    return world


@pytest.mark.parametrize("seeds", soaked([range(100), range(SEED * 10_000, SEED * 10_000 + 10_000)], 1))
def test_all_members_start_whatever_gets_lost(seeds):
    assert sum(bool(played(seed).started) for seed in seeds) > 0.6 * len(seeds)
