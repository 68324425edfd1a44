"""What a script does to whole domains of the compiled world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cosched.core.events import Finished, NodesLost
from cosched.core.job import JobState
from cosched.core.settings import Scheme
from cosched_sim.holds_and_yields import HoldEnd
from cosched_sim.script import Action, ScriptedEvent
from cosched_sim.world import World


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


def _switch_scheme(world: World, domain: int, event: ScriptedEvent) -> None:
    coscheduler = world.coschedulers[domain]
    coscheduler.ledger.configure(replace(coscheduler.settings, scheme=Scheme(event.scheme)))
    world.note_paired()
    world.clusters[domain].reschedule()


CARRY_OUT: dict[Action, Callable[[World, int, ScriptedEvent], None]] = {
    Action.DRAIN: lambda world, domain, event: world.clusters[domain].drain(event.nodes),
    Action.DOWN: _down,
    Action.UP: lambda world, domain, event: world.clusters[domain].bring_back(event.nodes),
    Action.SCHEME: _switch_scheme,
    Action.CUT: lambda world, domain, event: world.cut_link(domain, world.index[event.peer]),
    Action.MEND: lambda world, domain, event: world.mend_link(domain, world.index[event.peer]),
}


class WorldStage:
    """A `what_if.DomainStage`: jobs are changed by the world itself."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.cancel, self.end_run, self.requeue = world.cancel, world.end_run, world.requeue
        self.unlink, self.replace = world.unlink, world.replace

    def change_domain(self, event: ScriptedEvent) -> None:
        """Carry out what a script does to a whole domain."""
        CARRY_OUT[event.action](self._world, self._world.index[event.domain], event)
