"""Two mates that get ready at one moment, and messages between their domains that wait until they are delivered."""

from decimal import Decimal

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Effect, Try
from cosched.core.events import Ready, Submitted, Tried
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, named_mate
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.core.had import had

from .messages import Log, Messages

PEER = {"A": "B", "B": "A"}
JOB = {"A": "a1", "B": "b1"}


class Crossing(Messages):
    """Jobs a1 and b1 become ready once each, at any moment; messages are delivered in any order."""

    def __init__(self, schemes: dict[str, Scheme], fits_when_tried: bool = False, log: Log | None = None) -> None:
        super().__init__({name: self._domain(name, scheme) for name, scheme in schemes.items()}, JOB, log)
        self.fits_when_tried = fits_when_tried
        for name in self.cores:
            self.feed(name, Submitted(JOB[name], named_mate(PEER[name], "p")))
            self.pending.append((name, Ready(JOB[name], Allocation(4), FOREVER)))

    @staticmethod
    def _domain(name: str, scheme: Scheme) -> Coscheduler:
        return Coscheduler(name, 10, CoschedulingSettings(scheme=scheme, max_held_fraction=Decimal(1)))

    def deliver(self, index: int) -> None:
        name, event = self.pending.pop(index)
        if type(event) is not Ready or self.state(name) is JobState.QUEUED:  # a job that runs is not offered
            self.feed(name, event)

    def _carry_out(self, name: str, effect: Effect) -> None:
        super()._carry_out(name, effect)
        if type(effect) is Try:
            if self.fits_when_tried:
                self.starts.append(effect.job)
            self.feed(name, Tried(effect.job, had(self.fits_when_tried)))
