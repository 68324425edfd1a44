"""Members of one group on several domains, and messages between them that wait until they are delivered."""

from __future__ import annotations

from decimal import Decimal

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call, Effect, GiveBack, Release, SetTimer, Start, Timer, TryReady, Yield
from cosched.core.events import Answered, Asked, CallFailed, Event, LeaseOver, Ready, RetryDue, Submitted, TriedReady
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Failure, GroupName
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme

NOW = 7
GIVEN_BACK = (GiveBack, Yield, Release)


class World:
    """Job j on each domain becomes ready once; `fits`: where it can be made ready for another member.

    Messages are delivered in any order. Timers are not: `due` tells a member's lease, or its retry.
    """

    def __init__(self, schemes: dict[str, Scheme], fits: str = "", ready: str | None = None) -> None:
        self.fits = fits
        self.starts: list[str] = []
        self.pending: list[tuple[str, Event]] = []
        self.timers: dict[tuple[str, Timer], int] = {}
        self.cores = {name: self._domain(name, scheme) for name, scheme in schemes.items()}
        for name in self.cores:
            others = tuple(other for other in self.cores if other != name)
            self.feed(name, Submitted("j", GroupName("g", others)))
        for name in self.cores if ready is None else ready:
            self.pending.append((name, Ready("j", 4, FOREVER)))

    @staticmethod
    def _domain(name: str, scheme: Scheme) -> Coscheduler:
        wait = {"on_peer_unreachable": OnUnreachable.YIELD}  # nobody goes on without a member that does not answer
        settings = CoschedulingSettings(scheme=scheme, max_held_fraction=Decimal(1), **wait)
        return Coscheduler(name, 10, settings, story=False)

    def state(self, name: str) -> JobState:
        return self.cores[name].jobs["j"].state

    def deliver(self, index: int) -> None:
        name, event = self.pending.pop(index)
        if type(event) is not Ready or self.state(name) is JobState.QUEUED:  # a job that has nodes is not offered
            self.feed(name, event)

    def lose(self, index: int) -> None:
        """The message gets lost; who asked learns that there is no answer."""
        name, event = self.pending.pop(index)
        if type(event) is Asked:
            self.pending.append((event.peer, CallFailed("j", event.request, Failure.TIMEOUT, name)))
        elif type(event) is Answered:
            self.pending.append((name, CallFailed("j", event.request, Failure.TIMEOUT, event.peer)))
        else:  # it did not come from elsewhere
            self.pending.append((name, event))

    def double(self, index: int) -> None:
        """The message comes twice."""
        self.pending.append(self.pending[index])

    def due(self, name: str, timer: Timer) -> None:
        """The timer of the member on this domain is due."""
        del self.timers[name, timer]
        self.feed(name, {Timer.LEASE: LeaseOver, Timer.RETRY: RetryDue}[timer]("j"))

    def feed(self, name: str, event: Event) -> None:
        for effect in self.cores[name].handle(event, NOW):
            self._carry_out(name, effect)

    def _carry_out(self, name: str, effect: Effect) -> None:
        if type(effect) is Call:
            self.pending.append((effect.peer, Asked(name, effect.request)))
        elif type(effect) is Answer:
            self.pending.append((effect.peer, Answered("j", effect.request, effect.answer, name)))
        elif type(effect) is Start:
            self.starts.append(name)
        elif type(effect) is TryReady:
            self.feed(name, TriedReady("j", name in self.fits))
        elif type(effect) is SetTimer and effect.timer in (Timer.LEASE, Timer.RETRY):
            self.timers[name, effect.timer] = effect.at

    # Restart

    def crash(self, name: str) -> None:
        """The domain dies and starts again with what is on record; what it was just sending gets lost."""
        lost = [index for index, (to, event) in enumerate(self.pending) if _sender(to, event) == name]
        for index in reversed(lost):
            self.lose(index)
        self.pending = [(to, event) for to, event in self.pending if to != name or type(event) is Asked]
        recorded = self.cores[name].jobs["j"]
        calls = self.cores[name].ledger.calls_before + recorded.calls
        core = self.cores[name] = self._domain(name, self.cores[name].settings.scheme)
        core.ledger.calls_before = calls
        self.timers = {key: at for key, at in self.timers.items() if key[0] != name}
        for effect in core.recover(recorded, 0, NOW):
            self._carry_out(name, effect)


def _sender(to: str, event: Event) -> str:
    return event.peer if type(event) in (Asked, Answered) else to
