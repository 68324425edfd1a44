"""Carries out the scripted events of a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cosched.core.events import Finished, NodesLost
from cosched.core.job import JobState
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.settings import Scheme
from cosched.sim.engine import Engine
from cosched.sim.holds_and_yields import HoldEnd
from cosched.sim.script import Action, ScriptedEvent


class WhatIf:
    """Scripted events by time; events of one instant are in file order."""

    def __init__(self, script: Sequence[ScriptedEvent]) -> None:
        self._events = sorted(script, key=lambda event: event.time)
        self._done = 0

    def next(self) -> int:
        """Return the instant of the next event, or NEVER."""
        return self._events[self._done].time if self._done < len(self._events) else NEVER

    def fire(self, engine: Engine) -> None:
        """Carry out the events of the engine's current instant."""
        while self.next() == engine.now:
            event = self._events[self._done]
            self._done += 1
            CARRY_OUT[event.action](engine, engine.index[event.domain], event)


def _cancel(engine: Engine, domain: int, event: ScriptedEvent) -> None:
    row = engine.first[domain] + event.row
    before = engine.clusters[domain].state(row)
    engine.clusters[domain].cancel(row, engine.now)
    if row not in engine.job_id or before.final:
        return
    if before is JobState.PENDING:
        engine.submitted(domain, row)  # so that its mate learns of the job
    engine.feed(domain, Finished(engine.job_id[row], JobState.CANCELLED))
    engine.schedulers[domain].holds.end(row, engine.now, HoldEnd.CANCELLED)


def _drain(engine: Engine, domain: int, event: ScriptedEvent) -> None:
    engine.clusters[domain].drain(event.nodes)


def _down(engine: Engine, domain: int, event: ScriptedEvent) -> None:
    cluster = engine.clusters[domain]
    cluster.drain(event.nodes)
    for row in cluster.occupants() if cluster.draining else ():
        if cluster.draining == 0:
            break
        state = cluster.lose(row, engine.now)
        if row in engine.job_id:
            job = engine.job_id[row]
            engine.feed(domain, NodesLost(job) if state is JobState.QUEUED else Finished(job, state))
            engine.schedulers[domain].holds.end(row, engine.now, HoldEnd.CANCELLED)


def _up(engine: Engine, domain: int, event: ScriptedEvent) -> None:
    engine.clusters[domain].bring_back(event.nodes)


def _switch_scheme(engine: Engine, domain: int, event: ScriptedEvent) -> None:
    coscheduler = engine.coschedulers[domain]
    coscheduler.ledger.configure(replace(coscheduler.settings, scheme=Scheme(event.scheme)))
    engine.note_paired()
    engine.clusters[domain].reschedule()


def _cut(engine: Engine, domain: int, event: ScriptedEvent) -> None:
    engine.cut_link(domain, engine.index[event.peer])


def _mend(engine: Engine, domain: int, event: ScriptedEvent) -> None:
    engine.mend_link(domain, engine.index[event.peer])


CARRY_OUT: dict[Action, Callable[[Engine, int, ScriptedEvent], None]] = {
    Action.CANCEL: _cancel,
    Action.DRAIN: _drain,
    Action.DOWN: _down,
    Action.UP: _up,
    Action.SCHEME: _switch_scheme,
    Action.CUT: _cut,
    Action.MEND: _mend,
}
