"""What members are told of a proposal is told until they have heard it, whatever becomes of the job."""

from __future__ import annotations

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.peers import MAX_ABSENCE
from cosched.core.effects import Timer
from cosched.core.events import Asked, Event, Finished, Ready, Requeued, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, GetProposal, ProposeGroupStart, Request, SettleGroupStart
from cosched.core.settings import Scheme

from .world import World, settle


def proposed(booked: str) -> World:
    """A's job has proposed a start; these members are booked, and their answers are under way."""
    world = World(dict.fromkeys("ABC", Scheme.YIELD), fits="BC")
    world.pending.append(("A", Ready("j", Allocation(4), FOREVER)))
    while not all(world.job(name).group.promise for name in booked):
        held_back = [to not in booked and _is(ProposeGroupStart, event) for to, event in world.pending]
        world.deliver(held_back.index(False))
    return world


def decided() -> World:
    """B and C are booked, A has decided the start, and what it tells them is under way."""
    world = proposed("BC")
    while not world.started:
        world.deliver(0)
    return world


def lose_what_is_told(world: World, name: str) -> None:
    """What the member there is told gets lost; all else arrives."""
    (index,) = [i for i, (to, event) in enumerate(world.pending) if to == name and _is(SettleGroupStart, event)]
    world.lose(index)
    settle(world)


def _is(kind: type[Request], event: Event) -> bool:
    return type(event) is Asked and isinstance(event.request, kind)


def test_a_drop_that_was_lost_is_told_again_though_its_job_has_left_the_group():
    world = proposed("C")
    world.feed("A", Unlinked("j"))
    lose_what_is_told(world, "C")
    assert world.job("C").group.promise is not None
    world.due("A", Timer.TELL)
    settle(world)
    assert world.job("C").group.promise is None
    assert world.started == ["A"]  # alone: it had nodes
    assert world.job("A").untold == {}


def test_a_proposal_of_which_its_living_proposer_knows_nothing_is_dropped():
    world = proposed("C")
    world.feed("A", Unlinked("j"))
    lose_what_is_told(world, "C")
    world.due("C", Timer.LEASE)
    assert isinstance(world.pending[0][1].request, GetProposal)
    settle(world)
    assert world.job("C").group.promise is None
    assert world.started == ["A"]


ENDS = (*(Finished("j", how) for how in JobState if how.final), Requeued("j"))


@pytest.mark.parametrize("event", ENDS, ids=["completed", "failed", "cancelled", "queued again"])
def test_a_start_that_was_lost_is_told_again_whatever_has_become_of_the_job(event):
    world = decided()
    world.feed("A", event)
    lose_what_is_told(world, "C")
    assert world.state("C") is JobState.READY
    world.due("A", Timer.TELL)
    settle(world)
    assert world.state("C") is JobState.RUNNING
    assert world.job("A").untold == {}


def test_a_member_that_asks_hears_of_the_start_though_the_job_is_queued_again_and_has_left_its_group():
    world = decided()
    world.feed("A", Requeued("j"))
    world.feed("A", Unlinked("j"))
    lose_what_is_told(world, "C")
    world.due("C", Timer.LEASE)
    settle(world)
    assert world.state("C") is JobState.RUNNING


def test_a_start_that_was_lost_is_told_again_after_a_restart_though_the_job_has_ended():
    world = decided()
    world.feed("A", Finished("j", JobState.COMPLETED))
    lose_what_is_told(world, "C")
    world.crash("A")
    settle(world)
    assert world.state("C") is JobState.RUNNING


def test_nobody_is_told_for_longer_than_the_longest_absence():
    world = decided()
    lose_what_is_told(world, "C")
    world.job("A").untold["C"] = world.job("A").untold["C"]._replace(since=-MAX_ABSENCE)
    world.due("A", Timer.TELL)
    assert world.job("A").untold == {}
    assert world.pending == []
