"""Two mates that get ready at one moment, and messages between their domains that wait until they are delivered."""

from collections.abc import Callable
from decimal import Decimal

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call, Effect, Start, Try
from cosched.core.events import Answered, Asked, Event, Ready, Submitted, Tried
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, MateName
from cosched.core.settings import CoschedulingSettings, Scheme

PEER = {"A": "B", "B": "A"}
JOB = {"A": "a1", "B": "b1"}
NOW = 7
Log = Callable[[str, str, Effect], None]  # domain, its job, what it wants done


class Crossing:
    """Jobs a1 and b1 become ready once each, at any moment; messages are delivered in any order."""

    def __init__(self, schemes: dict[str, Scheme], fits_when_tried: bool = False, log: Log | None = None) -> None:
        self.fits_when_tried = fits_when_tried
        self.log = log
        self.starts: list[str] = []
        self.cores = {name: self._domain(name, scheme) for name, scheme in schemes.items()}
        self.pending: list[tuple[str, Event]] = []
        for name in self.cores:
            self.feed(name, Submitted(JOB[name], MateName(PEER[name], "p")))
            self.pending.append((name, Ready(JOB[name], 4, FOREVER)))

    @staticmethod
    def _domain(name: str, scheme: Scheme) -> Coscheduler:
        return Coscheduler(name, 10, CoschedulingSettings(scheme=scheme, max_held_fraction=Decimal(1)))

    def state(self, name: str) -> JobState:
        return self.cores[name].jobs[JOB[name]].state

    def deliver(self, index: int) -> None:
        name, event = self.pending.pop(index)
        if type(event) is not Ready or self.state(name) is JobState.QUEUED:  # a job that runs is not offered
            self.feed(name, event)

    def feed(self, name: str, event: Event) -> None:
        for effect in self.cores[name].handle(event, NOW):
            if self.log is not None:
                self.log(name, JOB[name], effect)
            self._carry_out(name, effect)

    def _carry_out(self, name: str, effect: Effect) -> None:
        if type(effect) is Call:
            self.pending.append((effect.peer, Asked(name, effect.request)))
        elif type(effect) is Answer:
            self.pending.append((effect.peer, Answered(effect.request.caller, effect.request, effect.answer)))
        elif type(effect) is Start:
            self.starts.append(effect.job)
        elif type(effect) is Try:
            if self.fits_when_tried:
                self.starts.append(effect.job)
            self.feed(name, Tried(effect.job, self.fits_when_tried))

    def key(self) -> str:
        """Equal for two histories that will go on equally."""
        jobs = [self.cores[name].jobs[JOB[name]] for name in self.cores]
        return repr((jobs, sorted(map(repr, self.pending)), self.starts))
