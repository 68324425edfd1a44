"""Cores of several domains, and messages between them that wait until they are delivered."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Answer, Call, Effect, Start
from cosched.core.events import Answered, Asked, Event
from cosched.core.job import JobState

NOW = 7
Log = Callable[[str, str, Effect], None]  # domain, its job, what it wants done


class Messages:
    """One job on each domain; messages come in any order. What a scheduler would do is for subclasses."""

    now = NOW

    def __init__(self, cores: Mapping[str, Coscheduler], jobs: Mapping[str, str], log: Log | None = None) -> None:
        """`jobs`: the job's id by domain."""
        self.cores = dict(cores)
        self.ids = jobs
        self.log = log
        self.starts: list[str] = []
        self.pending: list[tuple[str, Event]] = []

    def job(self, name: str) -> PairedJob:
        return self.cores[name].jobs[self.ids[name]]

    def state(self, name: str) -> JobState:
        return self.job(name).state

    def feed(self, name: str, event: Event) -> None:
        for effect in self.cores[name].handle(event, self.now):
            if self.log is not None:
                self.log(name, self.ids[name], effect)
            self._carry_out(name, effect)

    def _carry_out(self, name: str, effect: Effect) -> None:
        if type(effect) is Call:
            self.pending.append((effect.peer, Asked(name, effect.request)))
        elif type(effect) is Answer:
            self.pending.append((effect.peer, Answered(effect.request.caller, effect.request, effect.answer, name)))
        elif type(effect) is Start:
            self.starts.append(effect.job)

    def key(self) -> str:
        """Equal for two histories that will go on equally."""
        return repr(([self.job(name) for name in self.cores], sorted(map(repr, self.pending)), self.starts))
