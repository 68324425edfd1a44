"""Members of one group on domains that give slots: a `World` whose schedulers say when a member fits."""

from __future__ import annotations

import random
from dataclasses import replace

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Book, Claim, ClearTimer, Effect, MoveSlot, Quote, SetTimer, Start, Timer, Unbook
from cosched.core.events import Booked, Claimed, Event, MayBeEarlier, Quoted, Ready
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import FOREVER, Window
from cosched.core.settings import Scheme
from cosched.core.timers import TIMER_EVENTS
from tests.core.had import had
from tests.core.messages import NOW

from .world import World, settle

READY, EARLIER = Ready("j", Allocation(4), FOREVER), MayBeEarlier("j")  # turns


class Planned(World):
    """`fits`: where it can be made ready now; `free`: from when on it fits; `claimable`: where a slot has its nodes.

    Time goes on when a slot comes; other timers may be due at any time.
    """

    def __init__(self, domains: str, patience: int = 30, windows: tuple[Window, ...] = (), at: int | None = None):
        self.patience = patience
        self.now = NOW
        self.free = dict.fromkeys(domains, NOW)
        self.booked: dict[str, int] = {}
        self.claimable = domains
        self.moved: list[tuple[int, int]] = []  # slots that were replaced, and by which
        self.moves: dict[str, SlotMoves] = {}
        self.started_at: dict[str, int] = {}
        super().__init__(dict.fromkeys(domains, Scheme.YIELD), windows=windows, at=at)

    def _domain(self, name: str, scheme: Scheme) -> Coscheduler:
        core = super()._domain(name, scheme)
        core.ledger.configure(replace(core.settings, slots=True, peer_patience=self.patience))
        return core

    def feed(self, name: str, event: Event) -> None:
        for effect in self.cores[name].handle(event, self.now):
            self._carry_out(name, effect)

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is Quote:
            self.feed(name, Quoted("j", max(effect.not_before, self.free[name]), effect.for_peer))
        elif type(effect) is Book:
            booked = effect.at >= self.free[name]
            if booked:
                self.moved += [(self.booked[name], effect.at)] if name in self.booked else []
                self.booked[name], self.moves[name] = effect.at, SlotMoves.BY_ITSELF
            self.feed(name, Booked("j", effect.at, effect.generation, had(booked), effect.for_peer))
        elif type(effect) is MoveSlot:
            self.moves[name] = effect.moves
        elif type(effect) is Start:
            self.started_at[name] = self.now
        elif type(effect) is Unbook:
            self.booked.pop(name, None)
        elif type(effect) is Claim:
            claimed = self.booked.get(name, FOREVER) <= self.now and name in self.claimable
            self.feed(name, Claimed("j", had(claimed), effect.for_peer))
        elif type(effect) is SetTimer:
            self.timers[name, effect.timer] = effect.at
        elif type(effect) is ClearTimer:
            self.timers.pop((name, effect.timer), None)

    def wait(self) -> None:
        """A second goes by, whatever is under way."""
        self.now += 1

    def due(self, name: str, timer: Timer) -> None:
        at = self.timers.pop((name, timer))
        self.now = max(self.now, at) if timer is Timer.SLOT else self.now
        self.feed(name, TIMER_EVENTS[timer]("j"))

    def offer(self, draw: random.Random) -> None:
        """The iteration of some domain comes to its member."""
        queued = [name for name in self.cores if self.state(name) is JobState.QUEUED and not self.is_fixed(name)]
        if not queued:
            return
        name = draw.choice(queued)
        if self.job(name).slot is not None and draw.random() < 0.5:
            self.pending.append((name, EARLIER))
        else:
            self.pending.append((name, READY))

    def is_fixed(self, name: str) -> bool:
        """Whether the scheduler gives the member no turn, since its slot is fixed."""
        return name in self.booked and self.moves[name] is SlotMoves.NEVER

    def deliver(self, index: int) -> None:
        name, event = self.pending[index]
        waits = self.state(name) is JobState.QUEUED and not self.is_fixed(name)
        has_turn = waits and (type(event) is Ready or self.job(name).slot is not None)
        if type(event) in (Ready, MayBeEarlier) and not has_turn:
            del self.pending[index]
        else:
            super().deliver(index)

    def crash(self, name: str) -> None:
        super().crash(name)
        if self.job(name).slot is None:
            self.booked.pop(name, None)


def agreed(free: dict[str, int], windows: tuple[Window, ...] = (), at: int | None = None) -> Planned:
    """A world whose members have all been ready."""
    world = Planned("".join(free), windows=windows, at=at)
    world.free = dict(free)
    for name in free:
        offered(world, name)
    return world


def offered(world: Planned, name: str, turn: Event = READY) -> None:
    """The iteration of that domain comes to its member; all messages that follow arrive."""
    world.pending.append((name, turn))
    settle(world)


def slot_comes(world: Planned, name: str) -> None:
    """The slot of that member comes; all messages that follow arrive."""
    world.due(name, Timer.SLOT)
    settle(world)


def slots(world: Planned) -> list[int | None]:
    return [world.job(name).slot for name in world.cores]
