"""One run of a replay. Who plays which domain is chosen here; the results are the same, whoever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.story import What
from cosched.installation.compilation import prepare_kernels
from cosched.schedulers.batch import BATCH
from cosched.schedulers.kind import PlayedAlone
from cosched_sim.configuration import Domain
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.federation.batch_world import BatchWorld
from cosched_sim.federation.conductor import Conductor, uncollected
from cosched_sim.federation.player import JobOutcome, Player, Results, in_columns
from cosched_sim.holds_and_yields import HoldLog, YieldLog
from cosched_sim.link import Link
from cosched_sim.results.outcomes import domain_result
from cosched_sim.results.result import ReplayResult
from cosched_sim.story import StoryLog
from cosched_sim.telling import RESIZED
from cosched_sim.warm_up import prepare_for
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.allocations import AllocationEnd, AllocationLog, Allocations
from cosched_sim.workload.jobs import UNKNOWN
from cosched_sim.workload.pairing import Pairing
from cosched_sim.world import World


class Run:
    """One run. Call `run` once, then `result`.

    One world plays all batch domains. Where nobody has a mate, a domain whose scheduler can is played by itself. Any
    other has a core player. ValueError: the times are too large.
    """

    def __init__(
        self,
        setups: Sequence[DomainSetup],
        pairing: Pairing,
        script: WhatIf | None = None,
        story: StoryLog | None = None,
    ) -> None:
        self._setups, self._pairing, self._story = setups, pairing, story
        self._script = script = script or WhatIf()
        self._link = link = Link()
        others = {setup.name: setup for setup in setups if setup.kind is not BATCH}
        self._alone: dict[str, PlayedAlone] = {
            setup.name: setup.kind.alone(setup.cluster, setup.jobs)
            for setup in others.values()
            if is_alone(setup, pairing, script)
        }
        cores = others.keys() - self._alone.keys()
        self._players: list[Player] = []
        if cores:
            from cosched_sim.federation.cores import core_players  # slow, and batch domains need none

            self._players += core_players(setups, pairing, cores, link, story, script=script)
        self._world: World | None = None
        if len(others) < len(setups):
            here = script.of({setup.name for setup in setups} - others.keys())
            self._world = World(setups, pairing, here, story, elsewhere=set(others), link=link)
            self._players.append(BatchWorld(self._world))
        self._by_domain = {domain: player for player in self._players for domain in player.domains}
        self._index = {setup.name: index for index, setup in enumerate(setups)}

    def run(self, tell: Callable[[int], None] = lambda _: None, stride: int = NEVER) -> None:
        """Play until nothing is left but forced releases in vain; tell the instant about every `stride` seconds."""
        order = sorted(self._by_domain, key=self._index.__getitem__)
        conductor = Conductor(self._players, self._link, tell, order, stride)
        with uncollected():
            conductor.run()
        self.now, self.stalled = conductor.now, conductor.stalled

    def result(self, settings: Sequence[Domain], timing: dict[str, float]) -> ReplayResult:
        """Collect the results."""
        now, pairing = self.now, with_successors(self._pairing, self._script, self._index)
        domains = {
            setup.name: domain_result(self.told(setup), of, setup.cluster.nodes, setup.workload, pairing, index, now)
            for index, (setup, of) in enumerate(zip(self._setups, settings, strict=True))
        }
        return ReplayResult(domains, pairing, self.stalled, self._events(), timing)

    def told(self, setup: DomainSetup) -> Results:
        """Return what came of a domain's jobs."""
        if (played := self._alone.get(setup.name)) is not None:
            jobs = in_columns(
                JobOutcome(start, start, end, 0, 0, 0, UNKNOWN, JobState.COMPLETED)
                for start, end in zip(played.start.tolist(), played.end.tolist(), strict=True)
            )
            return Results(jobs, 0, HoldLog().holds(0, 0), YieldLog().yields(), _allocations(played), played.counts)
        return self._by_domain[setup.name].results(setup.name, self.now)

    def _events(self) -> list[dict[str, Any]] | None:
        if self._story is None:
            return None
        events = self._story.events if self._world is None else self._story.with_unpaired(self._world)
        more = [event for setup in self._setups if setup.name in self._alone for event in self._events_alone(setup)]
        return sorted([*events, *more], key=lambda event: event["time"]) if more else events

    def _events_alone(self, setup: DomainSetup) -> Iterator[dict[str, Any]]:
        """Yield what happened to the jobs; sorted by time, stably, it is in order."""
        played, work = self._alone[setup.name], setup.workload
        ids = list(map(str, work.job_id.tolist()))

        def event(time: int, row: int, what: str) -> dict[str, Any]:
            return {"time": time, "domain": setup.name, "job": ids[row], "event": what}

        yield from (event(end, row, What.COMPLETED) for row, end in enumerate(played.end.tolist()))
        yield from (event(submit, row, What.SUBMITTED) for row, submit in enumerate(work.submit.tolist()))
        started = set()
        sizes = played.sizes
        columns = (column.tolist() for column in (sizes.row, sizes.at, sizes.procs, sizes.gave_to))
        for row, at, procs, other in zip(*columns, strict=True):
            gave_to = {} if other == NONE else {"gave_to": ids[other]}
            yield {**event(at, row, RESIZED if row in started else What.STARTED), "nodes": procs, **gave_to}
            started.add(row)


def with_successors(pairing: Pairing, script: WhatIf, index: Mapping[str, int]) -> Pairing:
    """Return the pairing with those jobs that have had others' places by the script; `index`: of each domain."""
    return pairing.replaced({(index[event.domain], event.row): event.new for event in script.replaced})


def warm_up(
    setups: Sequence[DomainSetup], pairing: Pairing, say: Callable[[str], None], script: WhatIf | None = None
) -> float:
    """Compile or load the kernels that a run needs, but for those of any batch domain; return the seconds that took."""
    seconds = prepare_for([setup for setup in setups if setup.kind is BATCH], say)
    for setup in setups:
        kind, alone = setup.kind, is_alone(setup, pairing, script or WhatIf())
        for name in kind.needed(setup.cluster, alone=alone) if kind is not BATCH else ():
            seconds += prepare_kernels(kind.kernels()[name], say, name)
    return seconds


def is_alone(setup: DomainSetup, pairing: Pairing, script: WhatIf) -> bool:
    """Return whether a domain is played by itself: nobody has a mate, and no script changes it."""
    undisturbed = not len(pairing) and script.of([setup.name]).next() == NEVER
    return undisturbed and setup.kind.plays_traces(setup.cluster)


def _allocations(played: PlayedAlone) -> Allocations:
    log, sizes = AllocationLog(), played.sizes
    for row, at, procs in zip(sizes.row.tolist(), sizes.at.tolist(), sizes.procs.tolist(), strict=True):
        log.begin(row, procs, at)
    for row, end in enumerate(played.end.tolist()):
        log.end(row, end, AllocationEnd.COMPLETED)
    return log.allocations(0)
