"""The real run: the strategies choose at some moments, and their maps are run in the network (IV.B, back to back).

All is smaller than in the paper, in proportion: the grid by SMALLER, memory by its square, what links give by SLOWER.
So each search has the same choice as at the paper's size, and iterations take SMALLER / SLOWER times less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations_with_replacement, pairwise
from random import Random
from typing import Any

from cosched.planning.application import Map
from cosched.planning.grid import MHZ, Grid, Link, Machine
from cosched.planning.problem import Problem, problem_of
from cosched.planning.sites import by_name
from cosched.planning.strategies import chosen_by_search, chosen_by_user
from cosched.planning.strips import StripKeys, StripModel
from cosched_papers.studies.dail2002.measuring import DYNAMIC, STATIC, STRATEGIES, USER
from cosched_papers.studies.dail2002.real.machines import Machines, at_port
from cosched_papers.studies.dail2002.real.network import Network
from cosched_papers.studies.dail2002.setup import ASSUMED, CASE_STUDY
from cosched_papers.studies.dail2002.testbed import SITES, Drawn, GradsTestbed

APPLICATIONS = ("jacobi", "life")
SMALLER, SLOWER = 7, 3.5
SIZE = CASE_STUDY // SMALLER
CYCLES = ASSUMED["cycles"] * SMALLER**2 * SLOWER / SMALLER
MOMENTS, QUICK_MOMENTS, ITERATIONS = 5, 1, 4
Pair = tuple[str, str]
Links = Mapping[Pair, Link]


@dataclass(frozen=True, slots=True)
class Run:
    """One map that was run: times of an iteration in s, as predicted by what was measured just before, and as found."""

    application: str
    moment: int  # from 1
    strategy: str
    machines: int
    across: bool  # it has machines at more than one site
    predicted: float
    measured: float


def real_runs(seed: int, moments: int, step: Callable[[str], None]) -> list[dict[str, Any]]:
    """Run everything; return the runs as plain values. InputError: namespaces are not permitted here."""
    testbed = GradsTestbed(len(SITES))
    step("making sites in network namespaces ...")
    with Network({site: [node.name for node in testbed.nodes if node.site == site] for site in SITES}) as network:
        commands = {node.name: network.inside(node.name) for node in testbed.nodes}
        with Machines(commands, at_port(network.addresses)) as machines:
            bed = _Bed(testbed, network, machines)
            return [
                asdict(run)
                for application in APPLICATIONS
                for moment in range(1, moments + 1)
                for run in bed.experiment(application, moment, seed, step)
            ]


class _Bed:
    """The testbed in the network."""

    def __init__(self, testbed: GradsTestbed, network: Network, machines: Machines) -> None:
        self._testbed, self._network, self._machines = testbed, network, machines
        self._first = {site: [n.name for n in testbed.nodes if n.site == site][:2] for site in SITES}

    def experiment(self, application: str, moment: int, seed: int, step: Callable[[str], None]) -> Iterator[Run]:
        """Let the strategies choose at a moment, and run their maps later."""
        problem = problem_of(f"{application},cycles={CYCLES:g}", SIZE)
        draw = Random(f"{seed} {application} {moment} real")
        now = self._testbed.moment(draw)
        self._set(now)
        known = _grid(self._testbed.at(now), self._probed(problem))
        means = {pair: Link(mbits / SLOWER, 0.0) for pair, mbits in self._means().items()}
        usual = _grid(self._testbed.static(), means)
        choices = {
            USER: chosen_by_user(problem, usual),
            STATIC: chosen_by_search(problem, usual),
            DYNAMIC: chosen_by_search(problem, known),
        }
        for strategy in STRATEGIES:
            step(f"{application}, moment {moment}, {strategy} ...")
            later = self._testbed.later(now, draw)
            self._set(later)
            grid = _grid(self._testbed.at(later, unlimited=True), self._probed(problem))
            map = _on(grid, choices[strategy].schedule.map)
            model, _ = problem.application.make(problem.size, problem.settings, grid, by_name(grid))
            units = [SIZE * CYCLES / (MHZ * machine.speed * machine.cpu) for machine in map.machines]
            assert isinstance(model, StripModel)
            between = [model.chain.exchange(one, other) for one, other in pairwise(map.machines)]
            measured, _ = self._machines.run(application, SIZE, map, units, between, ITERATIONS)
            across = len({machine.segment for machine in map.machines}) > 1
            predicted = model.predict(map).time
            yield Run(application, moment, strategy, len(map.machines), across, predicted, measured)

    def _means(self) -> dict[Pair, float]:
        static = self._testbed.static()
        first = {machine.segment: machine for machine in reversed(static.machines)}
        links = {(a, b): static.link(first[a], first[b]) for a, b in combinations_with_replacement(SITES, 2)}
        return {pair: link.bandwidth for pair, link in links.items() if link is not None}

    def _set(self, moment: Drawn) -> None:
        """Let all links give what they do at a moment."""
        for pair in combinations_with_replacement(SITES, 2):
            self._network.give(pair, moment[pair] / SLOWER)

    def _probed(self, problem: Problem) -> Links:
        """Measure all links by a row of the data."""
        assert isinstance(problem.settings, StripKeys)
        row = round(SIZE * problem.settings.bytes)
        ends = {(a, b): (self._first[a][0], self._first[b][a == b]) for a, b in combinations_with_replacement(SITES, 2)}
        return {pair: self._machines.probe(one, other, row) for pair, (one, other) in ends.items()}


def _grid(grid: Grid, links: Links) -> Grid:
    """Return machines with memory in proportion, and these links."""
    made = [
        replace(machine, segment=machine.name.partition(".")[2], memory=machine.memory / SMALLER**2)
        for machine in grid.machines
    ]
    bandwidth = {pair: link.bandwidth for pair, link in links.items()}
    return Grid(made, [bandwidth], [{pair: link.latency for pair, link in links.items()}])


def _on(grid: Grid, chosen: Map) -> Map:
    """Return the same map of the machines of a grid."""
    by_names: dict[str, Machine] = {machine.name: machine for machine in grid.machines}
    return Map(tuple(by_names[machine.name] for machine in chosen.machines), chosen.shares)
