"""What a script does to the domains of a replay by services, in the order of the script (`what_if.DomainStage`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cosched.core.job import JobState
from cosched.core.protocol import Domain, EndedBy
from cosched.v1 import replay_pb2 as wire
from cosched_adapters.replay_time import SharedTime
from cosched_sim.federation.live_player import LivePlayer
from cosched_sim.script import Action, ScriptedEvent

OF_NODES = {
    Action.DRAIN: wire.DOMAIN_CHANGE_DRAINED,
    Action.DOWN: wire.DOMAIN_CHANGE_DOWN,
    Action.UP: wire.DOMAIN_CHANGE_UP,
}


class LiveStage:
    """All services of a replay: each is told what happens to its jobs and nodes."""

    def __init__(self, players: Mapping[Domain, LivePlayer], time: SharedTime) -> None:
        self._players = players
        self._time = time
        self._whole: Mapping[Action, Callable[[ScriptedEvent], None]] = {
            **dict.fromkeys(OF_NODES, self._change_nodes),
            Action.SCHEME: self._switch_scheme,
            Action.CUT: lambda event: self._tell_both(event, wire.DOMAIN_CHANGE_CUT),
            Action.MEND: self._mend,
        }

    def cancel(self, name: Domain, job: int, by: EndedBy = EndedBy.OWNER) -> bool:
        for_good = by is EndedBy.OWNER_FOR_GOOD
        return self._change(name, job, wire.JOB_CHANGE_CANCELLED_FOR_GOOD if for_good else wire.JOB_CHANGE_CANCELLED)

    def end_run(self, name: Domain, job: int, how: JobState) -> bool:
        assert how is JobState.FAILED
        return self._change(name, job, wire.JOB_CHANGE_FAILED)

    def requeue(self, name: Domain, job: int) -> bool:
        return self._change(name, job, wire.JOB_CHANGE_REQUEUED)

    def unlink(self, name: Domain, job: int) -> bool:
        return self._change(name, job, wire.JOB_CHANGE_UNLINKED)

    def replace(self, name: Domain, job: int, new: int) -> bool:
        return self._change(name, job, wire.JOB_CHANGE_REPLACED, new)

    def _change(self, name: Domain, job: int, change: wire.JobChange, by: int = -1) -> bool:
        return self._players[name].change(self._time.now(), job, change, by)

    def change_domain(self, event: ScriptedEvent) -> None:
        self._whole[event.action](event)

    def _change_nodes(self, event: ScriptedEvent) -> None:
        self._players[event.domain].change_domain(self._time.now(), OF_NODES[event.action], nodes=event.nodes)

    def _switch_scheme(self, event: ScriptedEvent) -> None:
        """All hear of it, since a job may count as one without mates if nobody coschedules with it."""
        for player in self._players.values():
            player.change_domain(self._time.now(), wire.DOMAIN_CHANGE_SCHEME, scheme=event.scheme, domain=event.domain)

    def _mend(self, event: ScriptedEvent) -> None:
        """Either may call the other as soon as it hears that this is there."""
        self._tell_both(event, wire.DOMAIN_CHANGE_MENDED)
        self._tell_both(event, wire.DOMAIN_CHANGE_THERE)

    def _tell_both(self, event: ScriptedEvent, change: wire.DomainChange) -> None:
        for name, peer in ((event.domain, event.peer), (event.peer, event.domain)):
            self._players[name].change_domain(self._time.now(), change, domain=peer)
