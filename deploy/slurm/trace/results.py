"""The clusters' and the simulator's results for a cut in one form: `sim.results`, in trace seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cosched.core.job import JobState
from cosched.validation.schemes import SchemeChoice
from cosched_sim.configuration import Domain, ReplayConfig, replay_config
from cosched_sim.replaying import Replay
from cosched_sim.results.outcomes import add_pairs
from cosched_sim.results.result import DomainResult, Jobs, ReplayResult
from cosched_sim.workload.jobs import UNKNOWN, Ints, Workload
from deploy.slurm.trace.cut import Cut
from deploy.slurm.trace.playing import Play, Played


@dataclass(frozen=True, slots=True)
class Settings:
    """How both of them schedule: as Slurm's sched/backfill with priority/basic, and by Algorithm 1.

    Slurm's backfilling delays no job ahead in the queue, so it is conservative. `release_interval` is in seconds of the
    clusters.
    """

    release_interval: int = 5
    max_held_fraction: str = "1.0"
    backfill: str = "conservative"

    @property
    def of_services(self) -> Mapping[str, object]:
        """Return the settings for [coscheduling]."""
        return {"release_interval": self.release_interval, "max_held_fraction": float(self.max_held_fraction)}

    def of_simulator(self, cut: Cut) -> dict[str, object]:
        """Return the settings for each domain of a replay."""
        limits = {"release_interval": self.release_interval * cut.speed, "max_held_fraction": self.max_held_fraction}
        return {"policy": "fcfs", "backfill": self.backfill, **limits}


def simulate(cut: Cut, workloads: Sequence[Workload], schemes: Sequence[str], settings: Settings) -> ReplayResult:
    """Return the simulator's prediction for these workloads, paired as in the cut. InputError."""
    replay = Replay(_configuration(cut, workloads, settings))
    replay.pairing = cut.pairing
    return replay.run([SchemeChoice(scheme) for scheme in schemes])


def measured(cut: Cut, play: Play, schemes: Sequence[str], settings: Settings) -> ReplayResult:
    """Return the clusters' result. Both jobs of a pair that started together get the later start."""
    choices = [SchemeChoice(scheme) for scheme in schemes]
    domains = Replay(_configuration(cut, cut.workloads, settings)).settings(choices)
    starts = _starts(cut, play)
    found = {name: _domain(cut, play, number, domains[number], starts[number]) for number, name in enumerate(cut.names)}
    return ReplayResult(found, cut.pairing, stalled=False, events=None, timing={})


def _configuration(cut: Cut, workloads: Sequence[Workload], settings: Settings) -> ReplayConfig:
    domains = [
        {"name": name, "trace": jobs, "nodes": nodes, **settings.of_simulator(cut)}
        for name, jobs, nodes in zip(cut.names, workloads, cut.nodes, strict=True)
    ]
    return replay_config("trace", {"domains": domains})


def _starts(cut: Cut, play: Play) -> list[list[float]]:
    """Return the starts of all jobs of each domain, in seconds since 1970."""
    starts = [[job.begun for job in side.jobs] for side in play.sides]
    for one, other in cut.pairing.job.tolist():
        if play.sides[0].jobs[one].together and play.sides[1].jobs[other].together:
            starts[0][one] = starts[1][other] = max(starts[0][one], starts[1][other])
    return starts


def _domain(cut: Cut, play: Play, number: int, settings: Domain, starts: Sequence[float]) -> DomainResult:
    side = play.sides[number].jobs

    def times(of: Callable[[Played], float]) -> Ints:
        return _trace_times(cut, play, [of(job) for job in side])

    work = replace(cut.workloads[number], submit=times(lambda job: job.story.submitted))
    start, end = _trace_times(cut, play, starts), times(lambda job: job.over)
    paired = np.isin(np.arange(len(side)), cut.pairing.job[:, number])
    allocated = np.array([job.story.allocated(job.begun) * cut.speed for job in side])
    jobs = Jobs(
        ready=np.where(paired, times(lambda job: job.story.selected[0]), start),
        start=start,
        end=end,
        run=end - start,
        holds=_counts([job.record.holds.holds if job.record else 0 for job in side]),
        yields=_counts([job.record.holds.yields if job.record else 0 for job in side]),
        held_node_seconds=np.where(paired, np.rint(allocated * work.nodes), 0).astype(np.int64),
        state=np.full(len(side), JobState.COMPLETED, np.int64),
        pair=np.full(len(side), UNKNOWN, np.int64),
        mate_domain=np.full(len(side), UNKNOWN, np.int64),
        mate=np.full(len(side), UNKNOWN, np.int64),
    )
    add_pairs(jobs, cut.pairing, number)
    return DomainResult(settings, cut.nodes[number], work, jobs, play.sides[number].releases, int(end.max()))


def _trace_times(cut: Cut, play: Play, seconds: Sequence[float]) -> Ints:
    return np.rint((np.array(seconds) - play.began) * cut.speed).astype(np.int64)


def _counts(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
