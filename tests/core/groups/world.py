"""Members of one group on several domains, and messages between them that wait until they are delivered."""

from __future__ import annotations

from decimal import Decimal

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Effect, SetTimer, Timer, TryReady
from cosched.core.events import Answered, Asked, CallFailed, Event, Ready, Submitted, TriedReady
from cosched.core.job import JobState
from cosched.core.protocol import NO_MATE, Failure, named_group
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from cosched.core.timers import TIMER_EVENTS
from tests.core.had import had
from tests.core.messages import NOW, Messages


class World(Messages):
    """Job j on each domain; `fits`: where it can be made ready for another member.

    Timers are not due by themselves: `due` tells a member's lease, or its retry. A start is that of a domain's job.
    `named_by`: the job there names all others by their ids, and they name nobody; empty: all name their group.
    """

    def __init__(self, schemes, fits="", windows=(), at=None, named_by="") -> None:
        cores = {name: self._domain(name, scheme) for name, scheme in schemes.items()}
        super().__init__(cores, dict.fromkeys(cores, "j"))
        self.fits = fits
        self.timers: dict[tuple[str, Timer], int] = {}
        for name in self.cores:
            others = tuple(other for other in self.cores if other != name)
            ids = tuple((other, "j") for other in others) if named_by else ()
            group = named_group("g", others, windows=windows, at=at, ids=ids)
            named = NO_MATE if named_by not in ("", name) else group
            self.feed(name, Submitted("j", named, adoptable=named is NO_MATE))

    @staticmethod
    def _domain(name: str, scheme: Scheme) -> Coscheduler:
        wait = {"on_peer_unreachable": OnUnreachable.YIELD}  # nobody goes on without a member that does not answer
        settings = CoschedulingSettings(scheme=scheme, max_held_fraction=Decimal(1), **wait)
        return Coscheduler(name, 10, settings, story=False)

    @property
    def started(self) -> list[str]:
        return [name for name in self.cores if self.state(name) is JobState.RUNNING]

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
        self.pending.append(self.pending[index])

    def due(self, name: str, timer: Timer) -> None:
        del self.timers[name, timer]
        self.feed(name, TIMER_EVENTS[timer]("j"))

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is TryReady:
            self.feed(name, TriedReady("j", had(name in self.fits)))
        elif type(effect) is SetTimer and effect.timer in (Timer.LEASE, Timer.RETRY, Timer.TELL):
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


def settle(world: World) -> None:
    """All messages arrive, in order."""
    while world.pending:
        world.deliver(0)


def _sender(to: str, event: Event) -> str:
    return event.peer if type(event) in (Asked, Answered) else to
