"""A replay whose domains have several kinds of schedulers and mates on each other: all in lock-step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cosched.core.allocation import Counts
from cosched.core.scheduling.fluid.cluster import FluidCluster
from cosched.sim.configuration import Domain
from cosched.sim.federation.batch_world import BatchWorld
from cosched.sim.federation.conductor import Conductor
from cosched.sim.federation.core_player import CorePlayer
from cosched.sim.federation.cores import core_player
from cosched.sim.federation.player import Player
from cosched.sim.fluid import facts
from cosched.sim.link import Link
from cosched.sim.results.collecting import batch_result
from cosched.sim.results.outcomes import jobs_of, last_event
from cosched.sim.results.result import DomainResult, ReplayResult
from cosched.sim.story import StoryLog
from cosched.sim.world import DomainSetup, World
from cosched.workload.pairing import Pairing


class Federated:
    """One run: fluid domains by a core player each, the others by one batch world. Call `run` once, then `result`."""

    def __init__(self, setups: Sequence[DomainSetup], pairing: Pairing, story: StoryLog | None = None) -> None:
        self._setups, self._pairing, self._story = setups, pairing, story
        link = Link()
        self._cores: dict[str, CorePlayer] = {
            setup.name: core_player(setups, pairing, index, link, story)
            for index, setup in enumerate(setups)
            if setup.fluid is not None
        }
        players: list[Player] = list(self._cores.values())
        self._world: World | None = None
        if len(players) < len(setups):
            self._world = World(setups, pairing, story=story, elsewhere=self._cores, link=link)
            players.append(BatchWorld(self._world))
        self._players = players

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """Play until no event is left, or only forced releases that change nothing; `tell` gets each new instant."""
        conductor = Conductor(self._players, tell, [setup.name for setup in self._setups])
        conductor.run()
        self._now, self._stalled = conductor.now, conductor.stalled

    def result(self, settings: Sequence[Domain], timing: dict[str, float]) -> ReplayResult:
        """Collect the results."""
        if self._world is not None:
            self._world.now = self._now
        domains = {
            setup.name: self._of_core(index, settings[index]) if setup.fluid else self._of_world(index, settings[index])
            for index, setup in enumerate(self._setups)
        }
        return ReplayResult(domains, self._pairing, self._stalled, self._events(), timing)

    def _events(self) -> list[dict[str, Any]] | None:
        if self._story is None or self._world is None:
            return None if self._story is None else self._story.events
        return self._story.with_unpaired(self._world)

    def _of_world(self, index: int, settings: Domain) -> DomainResult:
        assert self._world is not None
        return batch_result(self._world, self._setups[index].name, index, settings)

    def _of_core(self, index: int, settings: Domain) -> DomainResult:
        setup = self._setups[index]
        player, work = self._cores[setup.name], setup.workload
        outcomes, releases = player.results(setup.name)
        jobs = jobs_of(outcomes, work, self._pairing, index, self._now)
        return DomainResult(
            settings,
            setup.cluster.nodes,
            work,
            jobs,
            releases,
            last_event(jobs, work, self._now),
            player.holds.holds(0, self._now),
            player.yields.yields(),
            player.allocations(self._now),
            facts(_counts(player), jobs, work),
        )


def _counts(player: CorePlayer) -> Counts:
    scheduler = player.scheduler
    assert isinstance(scheduler, FluidCluster)
    return scheduler.counts()
