"""The real core of groups, explored: one group of three, whatever the order of messages, breadth first.

A member may be selected so often by its scheduler, and be made ready for another one only where `fits` says so: else it
refuses. Timers are slower than messages. As many messages are lost or doubled, or domains killed, as `faults` says.
From each state in which no message is under way, a calm time must bring all members to start.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import NamedTuple

import pytest

from cosched.core.allocation import Allocation
from cosched.core.effects import ClearTimer, Effect, SetTimer, Timer
from cosched.core.events import Ready, ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.settings import Scheme
from tests.core.groups.test_histories import check
from tests.core.groups.world import World

DEEP = pytest.mark.model
HOLD, YIELD = Scheme.HOLD, Scheme.YIELD
OFFERED = Ready("j", Allocation(4), FOREVER)
CALM = 200  # steps of a calm time


class Timed(World):
    """Also the release timer of holds, and timers that are cleared."""

    def due(self, name: str, timer: Timer) -> None:
        if timer is Timer.RELEASE:
            del self.timers[name, timer]
            self.feed(name, ReleaseDue("j"))
        else:
            super().due(name, timer)

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is SetTimer and effect.timer is Timer.RELEASE:
            self.timers[name, effect.timer] = effect.at
        elif type(effect) is ClearTimer:
            self.timers.pop((name, effect.timer), None)

    @property
    def over(self) -> bool:
        return len(self.started) == len(self.cores)

    def queued(self) -> list[str]:
        return [name for name in self.cores if self.state(name) is JobState.QUEUED]


class State(NamedTuple):
    world: Timed
    offers: dict[str, int]  # how often a member may still be selected
    faults: int

    def key(self) -> str:
        return repr((self.world.key(), sorted(self.world.timers), self.offers, self.faults))


def ways(state: State) -> Iterator[State]:
    """Each way to go on."""
    world = state.world
    for index in range(len(world.pending)):
        yield _after(state, "deliver", index)
    for name, timer in [] if world.pending else list(world.timers):
        yield _after(state, "due", name, timer)
    for name in world.queued():
        if state.offers[name]:
            offered = _after(state, "feed", name, OFFERED)
            yield offered._replace(offers=state.offers | {name: state.offers[name] - 1})
    if state.faults:
        faults = [(what, at) for what in ("lose", "double") for at in range(len(world.pending))]
        for what, at in [*faults, *(("crash", name) for name in world.cores)]:
            yield _after(state, what, at)._replace(faults=state.faults - 1)


def _after(state: State, what: str, *details: object) -> State:
    world = deepcopy(state.world)
    getattr(world, what)(*details)
    return state._replace(world=world)


def comes_to_an_end(state: State, well: set[str]) -> bool:
    """Whether all start in a calm time: messages arrive, timers are due, members are selected in turn."""
    world, seen = deepcopy(state.world), [state.world.key()]
    world.fits = "".join(world.cores)
    for step in range(CALM):
        if world.over or seen[-1] in well:
            well.update(seen)
            return True
        if world.pending:
            world.deliver(0)
        elif queued := world.queued():
            world.feed(queued[step % len(queued)], OFFERED)
        else:
            world.due(*min(world.timers, key=lambda key: world.timers[key]))
    return False


def explored(start: Timed, offers: tuple[int, ...], faults: int = 0, states: int = 10**9) -> bool:
    """Go through all states, or so many; whether these are all."""
    first = State(start, dict(zip(start.cores, offers, strict=True)), faults)
    level, reached, well, depth = [first], {first.key()}, set[str](), 0
    while level and len(reached) < states:
        depth += 1
        found = []
        for state in level:
            check(state.world)
            assert state.world.pending or comes_to_an_end(state, well), state.key()
            for after in ways(state):
                key = after.key()
                if key not in reached:
                    reached.add(key)
                    found.append(after)
        level = found
    print(f"{len(reached)} states ({f'to depth {depth}' if level else 'all'})")
    return not level


def world(fits: str, *schemes: Scheme) -> Timed:
    return Timed(dict(zip("ABC", schemes, strict=True)), fits)


def test_one_member_that_proposes_starts_the_group_or_none() -> None:
    assert explored(world("BC", HOLD, HOLD, YIELD), (1, 0, 0))


@pytest.mark.parametrize("fits", ["", "C"])
def test_a_member_that_refuses_ends_the_proposal(fits: str) -> None:
    assert explored(world(fits, YIELD, HOLD, HOLD), (1, 0, 0))


@DEEP
@pytest.mark.parametrize(("scheme", "faults"), [(HOLD, 0), (YIELD, 1)], ids=["calm", "one fault"])
def test_two_members_that_propose_start_the_group_or_none(scheme: Scheme, faults: int) -> None:
    explored(world("C", HOLD, scheme, HOLD), (1, 1, 0), faults, states=1_000)
