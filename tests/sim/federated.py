"""Plays a case by core players and a batch world, led by the conductor."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from cosched.core.scheduling.primitives.tables import NEVER
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.federation.batch_world import BatchWorld
from cosched_sim.federation.conductor import Conductor
from cosched_sim.federation.cores import core_players
from cosched_sim.federation.player import Player
from cosched_sim.link import Link
from cosched_sim.results.outcomes import jobs_of
from cosched_sim.what_if import WhatIf
from cosched_sim.world import World
from tests.sim.exact import collected


def casts(setups: Sequence[DomainSetup]) -> Iterator[frozenset[str]]:
    """Which domains core players play, from none to all."""
    names = [setup.name for setup in setups]
    for count in range(len(names) + 1):
        yield from map(frozenset, combinations(names, count))


def played(setups, pairing, cores, script=()) -> dict[str, object]:
    """What came of it, job for job, and how it ended: these domains by a core player each, the others by one world."""
    link, what_if = Link(), WhatIf(script)
    players: list[Player] = [*core_players(setups, pairing, cores, link, script=what_if)]
    if len(cores) < len(setups):
        here = what_if.of({setup.name for setup in setups}.difference(cores))
        players.append(BatchWorld(World(setups, pairing, here, elsewhere=cores, link=link)))
    conductor = Conductor(players, link, order=[setup.name for setup in setups])
    conductor.run()
    by_domain = {name: player for player in players for name in player.domains}
    found: dict[str, object] = {"stalled": conductor.stalled, "now": conductor.now}
    for index, setup in enumerate(setups):
        told = by_domain[setup.name].results(setup.name, conductor.now)
        found[setup.name] = _columns(jobs_of(told.jobs, setup.workload, pairing, index, conductor.now)), told.releases
    return found


def simulated(setups, pairing, stride=NEVER, script=()) -> dict[str, object]:
    """The same, of a world that goes through the whole run in the compiled loop, or so many seconds at a time."""
    engine = Engine(setups, pairing, WhatIf(script))
    engine.run(stride=stride)
    found: dict[str, object] = {"stalled": engine.stalled, "now": engine.now}
    for name, domain in collected(engine).domains.items():
        found[name] = _columns(domain.jobs), domain.releases
    return found


def _columns(jobs) -> dict[str, list[int]]:
    return {name: getattr(jobs, name).tolist() for name in jobs.__slots__}
