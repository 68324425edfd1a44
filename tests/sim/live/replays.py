"""Live replays of small cases: the services run in a thread of this process, to save their starts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cosched.validation.schemes import SchemeChoice
from cosched_sim.federation.conductor import Conductor
from cosched_sim.federation.cores import core_players
from cosched_sim.federation.live_player import LivePlayer
from cosched_sim.link import Link
from cosched_sim.live.replaying import LiveReplay
from cosched_sim.playing import with_successors
from cosched_sim.replaying import Replay, setup_of
from cosched_sim.results.columns import csv_of
from cosched_sim.results.outcomes import domain_result
from cosched_sim.results.result import ReplayResult
from cosched_sim.what_if import WhatIf
from tests.live.loop import Loop


class ThreadedReplay(LiveReplay):
    """A live replay whose services, sockets and databases are as ever, but in this process."""

    loop: Loop

    @contextmanager
    def start(self, places: Iterable[tuple[Path, dict[str, Any]]]) -> Iterator[list[LivePlayer]]:
        with ExitStack() as stack:
            players = []
            for folder, sections in list(places):
                folder.mkdir()
                stack.enter_context(self.loop.serve(folder, sections))
                players.append(LivePlayer(sections["domain"]["name"], f"unix:{folder / 'socket'}", lambda: None))
            for player in players:
                stack.callback(player.close)
            yield players


class CoreReplay(Replay):
    """A simulation in which core players play all domains, as the core's code does in services."""

    def run(self, schemes: Sequence[SchemeChoice] | None = None) -> ReplayResult:
        settings = self.settings(schemes)
        setups = [setup_of(*machine) for machine in zip(settings, self.workloads, self.nodes, strict=True)]
        names, link, what_if = [setup.name for setup in setups], Link(), WhatIf(self.script)
        players = core_players(setups, self.pairing, names, link, script=what_if)
        conductor = Conductor(players, link)
        conductor.run()
        pairing = with_successors(self.pairing, what_if, {name: index for index, name in enumerate(names)})
        now = conductor.now
        all_of = enumerate(zip(players, settings, self.nodes, self.workloads, strict=True))
        domains = {
            of.name: domain_result(player.results(of.name, now), of, nodes, work, pairing, index, now)
            for index, (player, of, nodes, work) in all_of
        }
        return self._with_script(ReplayResult(domains, pairing, conductor.stalled, None, {}), what_if)


def assert_equal(config: Any, live: type[Replay], simulation: type[Replay] = Replay) -> Any:
    """The results of `live`, or of another way to play it, are the simulation's; returns these."""
    simulated, played = simulation(config).run(), live(config).run()
    assert played.jobs.write_csv() == simulated.jobs.write_csv()
    for name in simulated.domains:
        assert csv_of(played.allocation_columns(name)) == csv_of(simulated.allocation_columns(name))
    here, there = ([json.dumps(event) for event in run.events or ()] for run in (played, simulated))
    assert here == there
    wanted, found = simulated.summary(), played.summary()
    del wanted["timing"], found["timing"]
    assert found == wanted
    return simulated
