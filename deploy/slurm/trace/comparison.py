"""The table: what Slurm made of a cut beside what the simulator says of it, and where the difference comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deploy.slurm.trace.cut import Cut
from deploy.slurm.trace.pace import Overhead, overhead, paced, skews, spread
from deploy.slurm.trace.playing import Play
from deploy.slurm.trace.results import Settings, measured, simulate
from sim.results import DomainResult, ReplayResult

_HEADS = ("", "", "Slurm", "simulator", "difference", "at Slurm's pace", "from", "to")
_LETTERS = {"hold": "H", "yield": "Y"}
Measure = Callable[[Cut, DomainResult], float]


@dataclass(frozen=True, eq=False)
class Comparison:
    """One combination of schemes: both results, in trace seconds, and predictions at Slurm's pace."""

    cut: Cut
    schemes: Sequence[str]
    play: Play
    slurm: ReplayResult
    simulator: ReplayResult
    paced: Sequence[ReplayResult]
    overhead: Overhead

    @property
    def name(self) -> str:
        """HH, HY, YH or YY."""
        return "".join(_LETTERS[scheme] for scheme in self.schemes)

    @property
    def together(self) -> int:
        """How many pairs started together on the clusters."""
        return int(self.slurm.pairs["together"])


def compare(cut: Cut, play: Play, schemes: Sequence[str], settings: Settings, seed: int) -> Comparison:
    """Set the simulator's predictions for a cut beside what became of it. InputError."""
    its = overhead(cut, play)
    return Comparison(
        cut,
        schemes,
        play,
        measured(cut, play, schemes, settings),
        simulate(cut, cut.workloads, schemes, settings),
        paced(cut, schemes, settings, its, seed),
        its,
    )


def wait(cut: Cut, domain: DomainResult) -> float:
    """Mean seconds from submission to first instruction."""
    return float((domain.jobs.start - domain.workload.submit).mean()) / cut.speed


def sync(cut: Cut, domain: DomainResult) -> float:
    """Mean seconds from being selected first to the start, of jobs with mates."""
    paired = domain.jobs.pair >= 0
    return float((domain.jobs.start - domain.jobs.ready)[paired].mean()) / cut.speed if paired.any() else 0.0


def slowdown(cut: Cut, domain: DomainResult) -> float:
    """Mean bounded slowdown; jobs count as one second of the clusters' long at least."""
    waits, runs = domain.jobs.start - domain.workload.submit, np.maximum(domain.jobs.run, cut.speed)
    return float(np.maximum(1.0, (waits + domain.jobs.run) / runs).mean())


def lost(cut: Cut, domain: DomainResult) -> float:
    """Node-seconds for which jobs with mates had nodes and did not run."""
    return float(domain.jobs.held_node_seconds.sum()) / cut.speed


MEASURES: dict[str, Measure] = {
    "mean wait (s)": wait,
    "mean sync time (s)": sync,
    "bounded slowdown": slowdown,
    "lost node-seconds": lost,
}


def table(comparisons: Sequence[Comparison]) -> str:
    """All combinations."""
    return "\n".join(line for comparison in comparisons for line in _lines(comparison))


def _lines(found: Comparison) -> Iterator[str]:
    yield from ("", _heading(found), _row(_HEADS))
    for name in found.cut.names:
        for label, measure in MEASURES.items():
            yield _row([name, label, *_cells(found, name, measure)])


def _heading(found: Comparison) -> str:
    pairs = len(found.cut.pairing)
    apart = max(skews(found.cut, found.play), default=0.0) * 1000
    return (
        f"{found.name} ({', '.join(found.schemes)}): {found.together} of {pairs} pairs together in Slurm, first "
        f"instructions at most {apart:.1f} ms apart; {found.simulator.pairs['together']} in the simulator"
    )


def _cells(found: Comparison, name: str, measure: Measure) -> list[str]:
    def of(result: ReplayResult) -> float:
        return measure(found.cut, result.domains[name])

    low, mean, high = spread(found.paced, of)
    slurm, simulator = of(found.slurm), of(found.simulator)
    return [f"{slurm:.2f}", f"{simulator:.2f}", f"{slurm - simulator:+.2f}", f"{mean:.2f}", f"{low:.2f}", f"{high:.2f}"]


def _row(cells: Sequence[str]) -> str:
    name, measure, *numbers = cells
    widths = (9, 10, 11, 16, 8, 8)
    return f"{name:<10} {measure:<18}" + "".join(f"{cell:>{width}}" for cell, width in zip(numbers, widths, strict=True))


def explanation(found: Comparison) -> str:
    """What Slurm does that the simulator does not, with this run's numbers."""
    its, domains = found.overhead, found.slurm.domains
    tries, predicted = (_yields(result) for result in (found.slurm, found.simulator))
    releases = [sum(domain.releases for domain in result.domains.values()) for result in (found.slurm, found.simulator)]
    held = [sum(int(d.jobs.holds.sum()) for d in result.domains.values()) for result in (found.slurm, found.simulator)]
    share = sum(_taken(found, name) for name in domains) / sum(_work(found, name) for name in domains)
    return (
        f"{found.name}: a job's nodes are taken for {its.launch:.2f} s before its first instruction "
        f"({its.launch_of_pairs:.2f} s with a mate: both hooks, and the gate's lead) and {its.end:.2f} s after its "
        f"last, {share:.0%} of the work. Holds: {held[0]} (simulator {held[1]}); forced releases: {releases[0]} "
        f"({releases[1]}); yields: {tries} ({predicted})."
    )


def _yields(result: ReplayResult) -> int:
    return sum(int(domain.jobs.yields.sum()) for domain in result.domains.values())


def _taken(found: Comparison, name: str) -> float:
    """Node-seconds of the clusters' for which nodes were taken about runs."""
    sides = dict(zip(found.cut.names, found.play.sides, strict=True))
    nodes = found.slurm.domains[name].workload.nodes.tolist()
    launches = (
        found.overhead.launch_of_pairs if job.record is not None else found.overhead.launch for job in sides[name].jobs
    )
    return sum((launch + found.overhead.end) * count for launch, count in zip(launches, nodes, strict=True))


def _work(found: Comparison, name: str) -> float:
    domain = found.slurm.domains[name]
    return float(domain.jobs.run @ domain.workload.nodes) / found.cut.speed
