"""Jobs on domains that run together and are queued again together, and messages that come in any order, and late."""

from __future__ import annotations

import random
from decimal import Decimal

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import ClearTimer, Effect, EndRun, SetTimer, Timer, Try, TryReady
from cosched.core.events import Answered, Asked, CheckDue, Ready, Requeued, Submitted, Tried, TriedReady
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Named, OnMemberRequeued, named_group, named_mate
from cosched.core.settings import CoschedulingSettings
from cosched.core.timers import TIMER_EVENTS
from tests.core.had import had

from .messages import Messages


class Pair(Messages):
    """Jobs that run together on a and b; messages come in any order. Each follows the other."""

    def __init__(self, draw: random.Random, names: str = "ab", *, pair: bool = True) -> None:
        settings = CoschedulingSettings(
            on_member_requeued=OnMemberRequeued.REQUEUE, max_requeues=99, max_held_fraction=Decimal(1)
        )
        cores = {name: Coscheduler(name, 10, settings, story=False) for name in names}
        super().__init__(cores, dict.fromkeys(names, "j"))
        self.draw, self.names = draw, names
        for name in names:
            self.feed(name, Submitted("j", self._named(name, pair=pair)))
        self.calm()

    def _named(self, name: str, *, pair: bool) -> Named:
        others = tuple(other for other in self.names if other != name)
        return named_mate(others[0], "run7") if pair else named_group("run7", others)

    @property
    def runs(self) -> list[int]:
        """How many runs each has begun."""
        return [self.job(name).runs for name in self.names]

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is Try:
            self._try(name)
        elif type(effect) is SetTimer and effect.timer is Timer.CHECK:
            self.pending.append((name, CheckDue("j")))
        elif type(effect) is EndRun:
            self.pending.append((name, Requeued("j")))

    def _try(self, name: str) -> None:
        self.feed(name, Tried("j", had(self.draw.random() < 0.3)))

    def deliver(self) -> None:
        name, event = self.pending.pop(self.draw.randrange(len(self.pending)))
        if type(event) is not Requeued or self.state(name) is JobState.RUNNING:
            self.feed(name, event)

    def live(self, steps: int = 300) -> Pair:
        """Let much happen, and then come to rest."""
        for _ in range(steps):
            self.step()
        self.calm()
        return self

    def step(self) -> None:
        name, what = self.draw.choice(self.names), self.draw.random()
        if what < 0.03 and self.state(name) is JobState.RUNNING:
            self.feed(name, Requeued("j"))
        elif what < 0.2 and self.state(name) is JobState.QUEUED:
            self._offer(name)
        elif self.pending:
            self.deliver()

    def _offer(self, name: str) -> None:
        self.feed(name, Ready("j", Allocation(4), FOREVER))

    def calm(self) -> None:
        """All is delivered, and queued jobs are offered, until all run."""
        while self.pending or any(self.state(name) is not JobState.RUNNING for name in self.names):
            if self.pending:
                self.deliver()
            else:
                self._pass_time()

    def _pass_time(self) -> None:
        for name in self.names:
            if self.state(name) is JobState.QUEUED:
                self._offer(name)


class Copies(Pair):
    """The same, of two or three; messages come more than once, tries take a while, and timers are due at any time."""

    def __init__(self, draw: random.Random, names: str, *, pair: bool) -> None:
        self.timers: set[tuple[str, Timer]] = set()
        self.copies = 0.0
        super().__init__(draw, names, pair=pair)

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is TryReady:
            self.pending.append((name, TriedReady("j", None)))
        elif type(effect) is SetTimer and effect.timer in (Timer.RELEASE, Timer.LEASE, Timer.RETRY):
            self.timers.add((name, effect.timer))
        elif type(effect) is ClearTimer:
            self.timers.discard((name, effect.timer))

    def _try(self, name: str) -> None:
        self.pending.append((name, Tried("j", None)))

    def deliver(self) -> None:
        """What comes of a try is known only now: see BatchReports."""
        name, event = place = self.draw.choice(self.pending)
        if type(event) in (Tried, TriedReady) and self.state(name) is JobState.QUEUED:
            in_vain = type(event) is Tried and self.cores[name].incoming.tries_in_vain("j")
            self.feed(name, type(event)("j", had(not in_vain and self.draw.random() < 0.5)))
        elif type(event) is not Requeued or self.state(name) is JobState.RUNNING:
            self.feed(name, event)
        if type(event) not in (Asked, Answered) or self.draw.random() >= self.copies:
            self.pending.remove(place)

    def live(self, steps: int = 300) -> Pair:
        self.copies = 0.2
        for _ in range(steps):
            self.step()
        self.copies = 0.0
        self.calm()
        return self

    def step(self) -> None:
        if self.draw.random() < 0.1:
            self._let_be_due()
        super().step()

    def _let_be_due(self) -> None:
        self.now += 1
        if self.timers and self.draw.random() < 0.3:
            name, timer = self.draw.choice(sorted(self.timers))
            self.timers.discard((name, timer))
            self.feed(name, TIMER_EVENTS[timer]("j"))

    def _pass_time(self) -> None:
        self._let_be_due()
        super()._pass_time()
