"""Carries out the scripted events of a replay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

from cosched.core.job import JobState
from cosched.core.protocol import Domain, EndedBy
from cosched.core.scheduling.primitives.tables import NEVER
from cosched_sim.script import OF_JOBS, Action, ScriptedEvent


class Stage(Protocol):
    """Whoever plays some domains. What a script does to their jobs, by rows; all say whether that could be done."""

    def cancel(self, name: Domain, job: int, by: EndedBy = EndedBy.OWNER) -> bool:
        """Cancel a job that has not ended."""

    def end_run(self, name: Domain, job: int, how: JobState) -> bool:
        """End a running job, in the final state `how`."""

    def requeue(self, name: Domain, job: int) -> bool:
        """Have a running job lose its nodes and be queued again, to begin anew."""

    def unlink(self, name: Domain, job: int) -> bool:
        """Have a job that waits, and has mates, start with nobody any more."""

    def replace(self, name: Domain, job: int, new: int) -> bool:
        """Have another job, which has no mate and has not started, take the place of one that has never run."""


class DomainStage(Stage, Protocol):
    """One whose domains have batch schedulers."""

    def change_domain(self, event: ScriptedEvent) -> None:
        """Carry out what a script does to a whole domain, or to its link to another one."""


class WhatIf:
    """Scripted events by time; events of one instant are in file order.

    `in_vain`: those that could not be carried out, as they happen; `replaced`: those by which jobs had others' places.
    `is_empty`: nothing was scripted, also for other domains than those that are left here (`of`).
    `joining`: jobs without mates, by their domains and rows there, that may take the places of others.
    """

    def __init__(self, script: Sequence[ScriptedEvent] = ()) -> None:
        self._events = sorted(script, key=lambda event: event.time)
        self._done = 0
        self.is_empty = not script
        self.in_vain: list[ScriptedEvent] = []
        self.replaced: list[ScriptedEvent] = []
        self.joining = [(event.domain, event.new) for event in script if event.action is Action.REPLACE]

    def of(self, domains: Collection[Domain]) -> WhatIf:
        """Return the script of the events of these domains; what it notes is noted here, too."""
        places = sorted(chain.from_iterable(self._places.get(domain, ()) for domain in domains))
        part = WhatIf([self._events[place] for place in places])
        part.in_vain, part.replaced, part.is_empty = self.in_vain, self.replaced, self.is_empty
        return part

    @cached_property
    def _places(self) -> Mapping[Domain, Sequence[int]]:
        """Where the events of each domain are; each of a thousand domains may ask for its own."""
        places: dict[Domain, list[int]] = {}
        for place, event in enumerate(self._events):
            places.setdefault(event.domain, []).append(place)
        return places

    def next(self) -> int:
        """Return the instant of the next event, or NEVER."""
        return self._events[self._done].time if self._done < len(self._events) else NEVER

    def fire(self, stage: Any, now: int) -> None:
        """Carry out the events of this instant: on a Stage, or a DomainStage if they are not about jobs."""
        while self.next() == now:
            event = self._events[self._done]
            self._done += 1
            if event.action not in OF_JOBS:
                stage.change_domain(event)
            elif self._is_taken(event) or not DO_TO_JOB[event.action](stage, event):
                self.in_vain.append(event)
            elif event.action is Action.REPLACE:
                self.replaced.append(event)

    def _is_taken(self, event: ScriptedEvent) -> bool:
        """Return whether the place of the job is another's already, or the new job has one."""
        return event.action is Action.REPLACE and any(
            event.domain == past.domain and (event.row == past.row or event.new == past.new) for past in self.replaced
        )


def _cancel(stage: Stage, event: ScriptedEvent) -> bool:
    by = EndedBy.OWNER_FOR_GOOD if event.final else EndedBy.OWNER
    return stage.cancel(event.domain, event.row, by)


DO_TO_JOB: dict[Action, Callable[[Stage, ScriptedEvent], bool]] = {
    Action.CANCEL: _cancel,
    Action.FAIL: lambda stage, event: stage.end_run(event.domain, event.row, JobState.FAILED),
    Action.REQUEUE: lambda stage, event: stage.requeue(event.domain, event.row),
    Action.UNLINK: lambda stage, event: stage.unlink(event.domain, event.row),
    Action.REPLACE: lambda stage, event: stage.replace(event.domain, event.row, event.new),
}
