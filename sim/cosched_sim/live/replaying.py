"""Replays by real services, from the configuration to the results."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from cosched.schedulers.batch import BATCH
from cosched.validation.schemes import SchemeChoice
from cosched.words.errors import InputError
from cosched_adapters.replay_time import SharedTime
from cosched_sim.configuration import ReplayConfig
from cosched_sim.federation.conductor import Conductor
from cosched_sim.federation.live_link import LiveLink
from cosched_sim.federation.live_player import LivePlayer, ServiceDiedError
from cosched_sim.federation.live_stage import LiveStage
from cosched_sim.federation.player import Results
from cosched_sim.live.events import LiveEvents
from cosched_sim.live.processes import TIME, ReplayedDomain, in_processes, prepared
from cosched_sim.playing import with_successors
from cosched_sim.progress import TimeLine
from cosched_sim.replaying import Replay, Say, setup_of
from cosched_sim.results.outcomes import domain_result
from cosched_sim.results.result import ReplayResult
from cosched_sim.what_if import WhatIf


class LiveReplay(Replay):
    """Job logs, read, cleaned and paired. Each `run` starts new services; ServiceDiedError if one does not serve.

    `start` is the function that starts them, each in its own process.
    """

    start = staticmethod(in_processes)

    def __init__(
        self, config: ReplayConfig, say: Say = lambda _: None, doing: Say = lambda _: None, *, compares: bool = False
    ) -> None:
        """As `Replay`. InputError for settings that only a simulation supports."""
        super().__init__(config, say, doing, compares=compares)
        if self.pairing.groups and self.pairing.dropped:
            said = "groups are known by their rows' numbers, and rows were dropped: remove those of jobs left out"
            raise InputError("--pairs", None, f"--live: {said}")
        self._tell = doing

    def run(self, schemes: Sequence[SchemeChoice] | None = None) -> ReplayResult:
        """Replay with the configured schemes, or with `schemes` (one a domain)."""
        settings = self.settings(schemes)
        domains = [ReplayedDomain(*each) for each in zip(settings, self.nodes, self.workloads, strict=True)]
        setups = [setup_of(domain.settings, domain.workload, domain.nodes) for domain in domains]
        what_if, names = WhatIf(self.script), [domain.settings.name for domain in domains]
        began = time.perf_counter()
        self._tell("starting services")
        with self._services(domains) as (players, time_told):
            started, line = time.perf_counter(), TimeLine(self.workloads, self._tell)
            stage = LiveStage({player.name: player for player in players}, time_told)
            for player in players:
                player.script, player.stage = what_if, stage
            batch = {setup.name for setup in setups if setup.kind is BATCH}
            ordered = sorted(players, key=lambda player: player.name in batch)  # as a simulation goes through them

            def tell(now: int) -> None:
                time_told.tell(now)
                line.tell(now)

            conductor = Conductor(ordered, LiveLink(ordered, time_told), tell, names)
            conductor.run()
            self._tell("fetching results")
            pairing = with_successors(self.pairing, what_if, {name: index for index, name in enumerate(names)})
            each = zip(players, domains, strict=True)
            told = {player.name: self._collect(player, domain, conductor.now) for player, domain in each}
        results = {
            name: domain_result(told[name], of.settings, of.nodes, of.workload, pairing, index, conductor.now)
            for index, (name, of) in enumerate(zip(names, domains, strict=True))
        }
        events = LiveEvents(setups, self.pairing, what_if).of(told) if self.config.events else None
        timing = {"read_s": self.read_s, "compile_s": self.compile_s, "start_s": started - began}
        timing["replay_s"] = time.perf_counter() - started
        return self._with_script(ReplayResult(results, pairing, conductor.stalled, events, timing), what_if)

    @contextmanager
    def _services(self, domains: Sequence[ReplayedDomain]) -> Iterator[tuple[list[LivePlayer], SharedTime]]:
        """Yield clients of the services and their shared time; everything ends with the block."""
        with tempfile.TemporaryDirectory(prefix="cosched-") as folder, ExitStack() as stack:
            told = stack.enter_context(closing(SharedTime.make(Path(folder) / TIME)))
            places = prepared(domains, self.pairing, Path(folder), events=self.config.events)
            players = stack.enter_context(self.start(places))
            for player in players:
                player.look()
            yield players, told

    @staticmethod
    def _collect(player: LivePlayer, domain: ReplayedDomain, now: int) -> Results:
        told = player.results(player.name, now)
        if len(told.jobs["start"]) != len(domain.workload):
            raise ServiceDiedError(f"{player.name}: not all jobs were submitted")
        return told
