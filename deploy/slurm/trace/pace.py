"""The simulator's prediction at Slurm's pace: the schedule if everything else were as in the simulator.

slurmctld looks at its queue once a second, and a job has its nodes for somewhat longer than it runs: from a little
before its first instruction to a little after its last. So submissions and ends count from the next tick of a
one-second clock. Several phases of this clock are tried, since averages depend on them.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cosched_sim.results.result import DomainResult, ReplayResult
from cosched_sim.workload.jobs import Ints, Workload
from deploy.slurm.trace.cut import Cut
from deploy.slurm.trace.playing import Play
from deploy.slurm.trace.results import Settings, simulate

PHASES = 20


@dataclass(frozen=True, slots=True)
class Overhead:
    """Seconds that a job takes besides its run: before its first instruction, without and with a mate, and after."""

    launch: float
    launch_of_pairs: float
    end: float


def overhead(cut: Cut, play: Play) -> Overhead:
    """Return the medians; a pair's launch counts from the mate that got its nodes last."""
    jobs = [job for side in play.sides for job in side.jobs]
    pairs = [[side.jobs[row] for side, row in zip(play.sides, pair, strict=True)] for pair in cut.pairing.job.tolist()]
    return Overhead(
        launch=_median([job.launch for job in jobs if job.record is None]),
        launch_of_pairs=_median([min(job.launch for job in pair) for pair in pairs]),
        end=_median([job.end for job in jobs]),
    )


def paced(cut: Cut, schemes: Sequence[str], settings: Settings, its: Overhead) -> list[ReplayResult]:
    """Return predictions for `PHASES` evenly spaced phases of the clock. InputError."""
    return [_paced(cut, schemes, settings, its, phase * cut.speed // PHASES) for phase in range(PHASES)]


def _paced(cut: Cut, schemes: Sequence[str], settings: Settings, its: Overhead, phase: int) -> ReplayResult:
    launches = [_launches(cut, number, its) for number in range(len(cut.names))]
    workloads = [_ticking(cut, number, launches[number], its, phase) for number in range(len(cut.names))]
    found = simulate(cut, workloads, schemes, settings)
    domains = {
        name: _first_instructions(domain, cut.workloads[number], launches[number], phase)
        for number, (name, domain) in enumerate(found.domains.items())
    }
    return replace(found, domains=domains)


def _launches(cut: Cut, number: int, its: Overhead) -> Ints:
    paired = np.isin(np.arange(len(cut.workloads[number])), cut.pairing.job[:, number])
    launches: Ints = np.rint(np.where(paired, its.launch_of_pairs, its.launch) * cut.speed).astype(np.int64)
    return launches


def _ticking(cut: Cut, number: int, launches: Ints, its: Overhead, phase: int) -> Workload:
    """Return the jobs as if everything were noticed at ticks, which are a second of the clusters apart."""
    jobs = cut.workloads[number]
    run = _next_tick(cut, jobs.run + launches + round(its.end * cut.speed))
    submit, requested = _next_tick(cut, jobs.submit + phase), np.maximum(jobs.requested, run)
    return replace(jobs, submit=submit, run=run, requested=requested)


def _next_tick(cut: Cut, times: Ints) -> Ints:
    ticks: Ints = -(-times // cut.speed) * cut.speed
    return ticks


def _first_instructions(domain: DomainResult, jobs: Workload, launches: Ints, phase: int) -> DomainResult:
    """Return the result with the starts that the jobs themselves would note, in the cut's time."""
    found, paired = domain.jobs, domain.jobs.pair >= 0
    start = found.start + launches - phase
    its = replace(
        found,
        ready=np.where(paired, found.ready - phase, start),
        start=start,
        end=start + jobs.run,
        run=jobs.run,
        held_node_seconds=found.held_node_seconds + np.where(paired, launches * jobs.nodes, 0),
    )
    return replace(domain, workload=jobs, jobs=its)


def _median(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) if seconds else 0.0
