"""Groups with windows: each member starts at its own instant, and all or none, whatever gets lost (coscheduling.md)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from cosched.core.coscheduling.starts.gathering import Gathering
from cosched.core.effects import Timer
from cosched.core.events import Answered, Asked, Finished, StartedUnasked
from cosched.core.job import JobState
from cosched.core.protocol import GetMember, MateProblem, Window
from tests.tiers import SEED, soaked

from . import planned
from .planned import EARLIER, READY, Planned, offered, slot_comes, slots
from .test_histories import check, played
from .test_slots import history
from .world import settle

gap = Gathering._gap
B_LATER = (Window("B", 60, 60),)
WINDOWS = (Window("B", 30, 60), Window("C", -20, 200))
agreed = partial(planned.agreed, windows=B_LATER)


def test_each_member_has_its_own_slot():
    world = agreed({"A": 10, "B": 50, "C": 30})
    assert slots(world) == [30, 90, 30]
    assert all(world.job(name).group.instant == 30 for name in "ABC")


def test_who_fits_late_makes_the_common_instant_a_later_one():
    assert slots(agreed({"A": 10, "B": 150, "C": 30})) == [90, 150, 90]


def test_a_member_may_start_before_the_common_instant():
    assert slots(agreed({"A": 10, "B": 10, "C": 70}, windows=(Window("B", -40, -40),))) == [70, 30, 70]


def test_within_its_window_a_member_starts_as_soon_as_it_can():
    assert slots(agreed({"A": 100, "B": 100, "C": 170}, windows=WINDOWS)) == [100, 130, 170]


def test_with_the_first_start_the_slots_of_the_others_are_fixed():
    world = agreed({"A": 10, "B": 50, "C": 30})
    slot_comes(world, "A")
    assert world.started == ["A", "C"]
    assert world.job("B").slot == 90
    assert world.is_fixed("B")
    slot_comes(world, "B")
    assert world.started_at == {"A": 30, "C": 30, "B": 90}
    assert len({world.job(name).group.started_by for name in "ABC"}) == 1


def test_nobody_starts_if_the_slot_of_a_later_member_is_gone():
    world = agreed({"A": 10, "B": 50, "C": 30})
    world.feed("B", Finished("j", JobState.CANCELLED))
    world.pending.clear()  # the word of that gets lost
    slot_comes(world, "A")
    assert world.started == []


def test_a_member_without_the_nodes_of_its_fixed_slot_starts_late(monkeypatch):
    """It is apart by as much as it is later than its window."""
    gaps = []
    monkeypatch.setattr(Gathering, "_gap", lambda *of: gaps.append(gap(*of)) or gaps[-1])
    world = agreed({"A": 10, "B": 50, "C": 30})
    slot_comes(world, "A")
    world.claimable = ""
    while world.job("B").slot is not None:
        assert world.now < 1000, "it waits for ever"
        slot_comes(world, "B")
    offered(world, "B")
    assert world.started == ["A", "B", "C"]
    assert gaps == [world.now - 90]


def test_if_a_member_starts_unasked_the_others_start_in_their_windows_all_the_same():
    world = Planned("AB", windows=B_LATER)
    world.feed("A", StartedUnasked("j"))
    began = world.job("A").started_at
    offered(world, "B")
    assert world.state("B") is JobState.QUEUED
    assert world.timers["B", Timer.RETRY] == began + 60
    world.now = began + 60
    world.due("B", Timer.RETRY)
    offered(world, "B")
    assert world.started_at == {"B": began + 60}


def test_a_member_that_is_cancelled_after_the_first_start_leaves_the_others():
    world = agreed({"A": 10, "B": 50, "C": 30}, windows=(Window("B", 60, 60), Window("C", 90, 90)))
    slot_comes(world, "A")
    world.feed("B", Finished("j", JobState.CANCELLED))
    settle(world)
    slot_comes(world, "C")
    assert world.started == ["A", "C"]


def test_a_drop_that_crosses_the_first_start_comes_too_late():
    """B and C have voted. C is cancelled, and its drop comes to B before the decision of A."""
    world = agreed({"A": 10, "B": 50, "C": 30})
    world.due("A", Timer.SLOT)
    while not all(type(event) is Answered for _, event in world.pending):
        world.deliver(0)
    world.feed("C", Finished("j", JobState.CANCELLED))
    while (drops := [index for index, (to, _) in enumerate(world.pending) if to == "B"]) != []:
        world.deliver(drops[0])
    assert world.job("B").slot == 90
    settle(world)
    slot_comes(world, "B")
    assert world.started_at == {"A": 30, "B": 90}


def test_a_group_with_windows_that_fits_now_starts_at_once():
    world = agreed({"A": 7, "B": 7, "C": 7})
    assert world.started == ["A", "C"]
    assert world.job("C").yields == 0
    assert world.job("B").slot == 67


def _agreed_slowly(seconds: int) -> Planned:
    """A world in which each message is under way for so long."""
    world = Planned("ABC", windows=B_LATER)
    world.fits = "ABC"
    for name in "ABC":
        world.pending.append((name, READY))
        while world.pending:
            _check(world)
            world.now += seconds
            for _ in range(len(world.pending)):
                world.deliver(0)
    return world


@pytest.mark.parametrize("seconds", [1, 10])
def test_however_long_an_agreement_takes_each_slot_is_within_its_window(seconds):
    world = _agreed_slowly(seconds)
    at = world.job("C").group.instant
    assert slots(world) == [at, at + 60, at]
    assert world.now <= at <= world.now + 6 * seconds


def test_a_second_that_ends_as_slots_are_booked_leaves_none_outside_its_window():
    """A and C book their slots a second late, and so do not; the next turn finds another instant."""
    world = Planned("ABC", windows=B_LATER)
    offered(world, "A")
    offered(world, "B")
    world.pending.append(("C", READY))
    while not any(type(event) is Asked and getattr(event.request, "book", False) for _, event in world.pending):
        world.deliver(0)
    world.wait()
    settle(world)
    assert slots(world) == [None, None, None]
    assert world.started == []
    offered(world, "C")
    assert world.started == ["A", "C"]
    assert world.job("B").slot == world.now + 60


def test_all_slots_move_if_the_common_instant_can_be_earlier():
    world = agreed({"A": 100, "B": 50, "C": 30})
    world.free = {"A": 40, "B": 50, "C": 30}
    offered(world, "A", EARLIER)
    assert slots(world) == [40, 100, 40]
    assert world.moved == [(160, 100), (100, 40), (100, 40)]


def test_no_member_becomes_later_for_an_earlier_common_instant():
    world = agreed({"A": 100, "B": 100, "C": 120}, windows=WINDOWS)
    assert slots(world) == [100, 130, 120]
    world.free = {"A": 40, "B": 40, "C": 130}
    offered(world, "A", EARLIER)
    assert slots(world) == [100, 130, 120]
    assert world.moved == []


def test_members_that_give_other_windows_are_of_no_group():
    world = Planned("ABC", windows=B_LATER)
    world.job("C").group.windows = {"B": (0, 60)}
    for name in "ABC":
        offered(world, name)
    assert world.job("A").group.without == ("C",)


def test_a_domain_says_why_it_has_no_such_member():
    world = Planned("AB", windows=B_LATER)
    question = GetMember("j", "g", ("A", "B"), "", B_LATER)
    core = world.cores["B"]
    assert core.names.answer("A", question).problem is None
    assert core.names.answer("A", question._replace(windows=())).problem is MateProblem.OTHER_WINDOWS
    core.ledger.configure(replace(core.settings, slots=False))
    assert core.names.answer("A", question).problem is MateProblem.NO_SLOTS


# Messages in any order, lost and doubled; domains that die; then a calm time


def _check(world: Planned) -> None:
    check(world)
    assert all(later <= earlier for earlier, later in world.moved), "a slot never moves later"
    started = [world.job(name).group.started_by for name in world.started]
    for name in world.cores:
        job = world.job(name)
        if job.state is JobState.QUEUED:
            assert world.booked.get(name) == job.slot, name
        if job.slot is not None:
            first, last = job.group.window(name)
            assert first <= job.slot - job.group.instant <= last, f"{name} has a slot outside its window"
        elif name in world.booked and job.state is JobState.RUNNING:
            assert world.started_at[name] >= world.booked[name], "nobody starts before its slot"
        if started:
            by = job.group.started_by or (job.group.promise and job.group.promise.proposal)
            assert by == started[0], f"{name} neither starts nor is booked"


def of_windows(seed: int) -> Planned:
    return history(seed, lambda *of: Planned(*of, WINDOWS if seed % 2 else B_LATER), _check)


@pytest.mark.parametrize("seeds", soaked([range(100), range(SEED * 10_000, SEED * 10_000 + 10_000)], 1))
def test_all_members_start_whatever_gets_lost(seeds):
    for seed in seeds:
        played(seed, of_windows)
