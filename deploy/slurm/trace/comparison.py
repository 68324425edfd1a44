"""The table: Slurm's results for a cut beside the simulator's, and the reasons for the difference."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cosched_sim.results.result import DomainResult, ReplayResult
from cosched_sim.workload.jobs import Ints
from deploy.slurm.trace.cut import Cut
from deploy.slurm.trace.pace import PHASES, Overhead, overhead, paced
from deploy.slurm.trace.playing import Play
from deploy.slurm.trace.results import Settings, measured, simulate

_HEADS = ("", "", "Slurm", "simulator", "difference", "at Slurm's pace", "from", "to")
Measure = Callable[[Cut, DomainResult], float]


@dataclass(frozen=True, eq=False)
class Comparison:
    """One combination of schemes: Slurm's results, the simulator's, and those at Slurm's pace, in trace seconds."""

    name: str
    cut: Cut
    schemes: Sequence[str]
    play: Play
    slurm: ReplayResult
    simulator: ReplayResult
    paced: Sequence[ReplayResult]
    overhead: Overhead

    @property
    def together(self) -> int:
        """The number of pairs that started together on the clusters."""
        return int(self.slurm.pairs["together"])

    @property
    def as_promised(self) -> bool:
        """Whether all pairs started together, or need not."""
        return self.together == len(self.cut.pairing) or set(self.schemes) == {"off"}

    @property
    def skews(self) -> list[float]:
        """The seconds between the first instructions of each pair's two jobs, ascending."""
        one, other = (side.jobs for side in self.play.sides)
        return sorted(abs(one[a].begun - other[b].begun) for a, b in self.cut.pairing.job.tolist())


def compare(name: str, cut: Cut, play: Play, schemes: Sequence[str], settings: Settings) -> Comparison:
    """Compare the simulator's predictions for a cut with the clusters' results. InputError."""
    its = overhead(cut, play)
    both = measured(cut, play, schemes, settings), simulate(cut, cut.workloads, schemes, settings)
    return Comparison(name, cut, schemes, play, *both, paced(cut, schemes, settings, its), its)


def wait(cut: Cut, domain: DomainResult) -> float:
    """Return the mean seconds from submission to first instruction."""
    return float((domain.jobs.start - domain.workload.submit).mean()) / cut.speed


def sync(cut: Cut, domain: DomainResult) -> float:
    """Return the mean seconds from first selection to start, for jobs with mates."""
    paired = domain.jobs.pair >= 0
    return float((domain.jobs.start - domain.jobs.ready)[paired].mean()) / cut.speed if paired.any() else 0.0


def slowdown(cut: Cut, domain: DomainResult) -> float:
    """Return the mean bounded slowdown; the bound is one second of the clusters' time."""
    waits, runs = domain.jobs.start - domain.workload.submit, np.maximum(domain.jobs.run, cut.speed)
    return float(np.maximum(1.0, (waits + domain.jobs.run) / runs).mean())


def lost(cut: Cut, domain: DomainResult) -> float:
    """Return the node-seconds during which jobs with mates had nodes and did not run."""
    return float(domain.jobs.held_node_seconds.sum()) / cut.speed


MEASURES = {"mean wait (s)": wait, "mean sync time (s)": sync, "bounded slowdown": slowdown, "lost node-seconds": lost}


def table(found: Comparison) -> str:
    """Return the table of both results, by domain and measure."""
    return "\n".join(_lines(found))


def _lines(found: Comparison) -> Iterator[str]:
    yield from (_heading(found), _row(_HEADS))
    for name in found.cut.names:
        for label, measure in MEASURES.items():
            yield _row([name, label, *_cells(found, name, measure)])


def _heading(found: Comparison) -> str:
    pairs = len(found.cut.pairing)
    apart = max(found.skews, default=0.0) * 1000
    return (
        f"{found.name} ({', '.join(found.schemes)}): {found.together} of {pairs} pairs together in Slurm, first "
        f"instructions at most {apart:.1f} ms apart; {found.simulator.pairs['together']} in the simulator"
    )


def _cells(found: Comparison, name: str, measure: Measure) -> list[str]:
    def of(result: ReplayResult) -> float:
        return measure(found.cut, result.domains[name])

    mean, low, high = _spread(found.paced, of)
    slurm, simulator = of(found.slurm), of(found.simulator)
    return [f"{slurm:.2f}", f"{simulator:.2f}", f"{slurm - simulator:+.2f}", f"{mean:.2f}", f"{low:.2f}", f"{high:.2f}"]


def _row(cells: Sequence[str]) -> str:
    name, measure, *numbers = cells
    shown = "".join(f"{cell:>{width}}" for cell, width in zip(numbers, (9, 10, 11, 16, 8, 8), strict=True))
    return f"{name:<10} {measure:<18}{shown}"


def explanation(found: Comparison) -> str:
    """Explain what Slurm does differently from the simulator, with this run's numbers."""
    its = found.overhead
    away, within = _distance(found, found.paced)
    away_alone, within_alone = _distance(found, [found.simulator])
    given_up = list(_given_up(found))
    node_seconds = sum(seconds * nodes for seconds, nodes in given_up)
    return (
        f"{found.name}: a job has its nodes for {its.launch:.2f} s before its first instruction "
        f"({its.launch_of_pairs:.2f} s with a mate: both hooks, and the gate's lead) and {its.end:.2f} s after its "
        f"last. Half of the jobs start at most {away_alone:.2f} s from the simulator's prediction, {within_alone:.0%} "
        f"within 1 s; {away:.2f} s and {within:.0%} for the one at Slurm's pace (mean of {PHASES} phases). Holds: "
        f"{_total(found.slurm, 'holds')} (simulator {_total(found.simulator, 'holds')}); forced releases: "
        f"{_releases(found.slurm)} ({_releases(found.simulator)}); yields: {_total(found.slurm, 'yields')} "
        f"({_total(found.simulator, 'yields')}); turns given up: {len(given_up)}"
        f", of {node_seconds:.0f} node-seconds in all."
    )


def _given_up(found: Comparison) -> Iterator[tuple[float, int]]:
    """Yield the turns that jobs gave up by a yield or a release: seconds and nodes."""
    for side, jobs in zip(found.play.sides, found.cut.workloads, strict=True):
        for job, nodes in zip(side.jobs, jobs.nodes.tolist(), strict=True):
            turns = zip(job.story.selected, job.story.requeued, strict=False)  # the last turn was not given up
            yield from ((until - since, nodes) for since, until in turns)


def _distance(found: Comparison, predictions: Sequence[ReplayResult]) -> tuple[float, float]:
    """Return how far jobs start from their predictions: median in seconds, share within 1 s; means over predictions."""
    apart = [np.abs(_all_starts(found.slurm) - _all_starts(result)) / found.cut.speed for result in predictions]
    medians, shares = [float(np.median(each)) for each in apart], [float((each <= 1).mean()) for each in apart]
    return statistics.fmean(medians), statistics.fmean(shares)


def _all_starts(result: ReplayResult) -> Ints:
    return np.concatenate([domain.jobs.start for domain in result.domains.values()])


def _total(result: ReplayResult, what: str) -> int:
    return sum(int(getattr(domain.jobs, what).sum()) for domain in result.domains.values())


def _releases(result: ReplayResult) -> int:
    return sum(domain.releases for domain in result.domains.values())


def _spread(found: Sequence[ReplayResult], of: Callable[[ReplayResult], float]) -> tuple[float, float, float]:
    """Return mean, minimum and maximum of a quantity over predictions."""
    values = [of(result) for result in found]
    return statistics.fmean(values), min(values), max(values)
