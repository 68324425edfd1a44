"""Carries out the scripted events of a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cosched.core.events import Finished, NodesLost
from cosched.core.job import JobState
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.settings import Scheme
from cosched.sim.holds_and_yields import HoldEnd
from cosched.sim.script import Action, ScriptedEvent
from cosched.sim.world import World


class WhatIf:
    """Scripted events by time; events of one instant are in file order."""

    def __init__(self, script: Sequence[ScriptedEvent]) -> None:
        self._events = sorted(script, key=lambda event: event.time)
        self._done = 0

    def next(self) -> int:
        """Return the instant of the next event, or NEVER."""
        return self._events[self._done].time if self._done < len(self._events) else NEVER

    def fire(self, world: World) -> None:
        """Carry out the events of the world's current instant."""
        while self.next() == world.now:
            event = self._events[self._done]
            self._done += 1
            CARRY_OUT[event.action](world, world.index[event.domain], event)


def _cancel(world: World, domain: int, event: ScriptedEvent) -> None:
    row = world.first[domain] + event.row
    before = world.clusters[domain].state(row)
    world.clusters[domain].cancel(row, world.now)
    if row not in world.job_id or before.final:
        return
    if before is JobState.PENDING:
        world.submitted(domain, row)  # so that its mate learns of the job
    world.feed(domain, Finished(world.job_id[row], JobState.CANCELLED))
    world.schedulers[domain].holds.end(row, world.now, HoldEnd.CANCELLED)


def _drain(world: World, domain: int, event: ScriptedEvent) -> None:
    world.clusters[domain].drain(event.nodes)


def _down(world: World, domain: int, event: ScriptedEvent) -> None:
    cluster = world.clusters[domain]
    cluster.drain(event.nodes)
    for row in cluster.occupants() if cluster.draining else ():
        if cluster.draining == 0:
            break
        state = cluster.lose(row, world.now)
        if row in world.job_id:
            job = world.job_id[row]
            world.feed(domain, NodesLost(job) if state is JobState.QUEUED else Finished(job, state))
            world.schedulers[domain].holds.end(row, world.now, HoldEnd.CANCELLED)


def _up(world: World, domain: int, event: ScriptedEvent) -> None:
    world.clusters[domain].bring_back(event.nodes)


def _switch_scheme(world: World, domain: int, event: ScriptedEvent) -> None:
    coscheduler = world.coschedulers[domain]
    coscheduler.ledger.configure(replace(coscheduler.settings, scheme=Scheme(event.scheme)))
    world.note_paired()
    world.clusters[domain].reschedule()


def _cut(world: World, domain: int, event: ScriptedEvent) -> None:
    world.cut_link(domain, world.index[event.peer])


def _mend(world: World, domain: int, event: ScriptedEvent) -> None:
    world.mend_link(domain, world.index[event.peer])


CARRY_OUT: dict[Action, Callable[[World, int, ScriptedEvent], None]] = {
    Action.CANCEL: _cancel,
    Action.DRAIN: _drain,
    Action.DOWN: _down,
    Action.UP: _up,
    Action.SCHEME: _switch_scheme,
    Action.CUT: _cut,
    Action.MEND: _mend,
}
