"""The cases of the study: each a replay beside one of the same jobs without coscheduling."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.sim.studies.meet.experiments import BY_LOAD, Experiment
from cosched.sim.studies.meet.schemes import under
from cosched.sim.studies.tang2011.cases import LABELS
from cosched.sim.studies.tang2011.setup import BASE
from cosched.sim.sweeps.case import Case, Label, Row

if TYPE_CHECKING:
    from cosched.sim.replaying import Replay
    from cosched.sim.results.result import ReplayResult

MOST_COUNTED = 5  # replications in which calls are counted, which takes as long again


@dataclass(frozen=True)
class MeetCase(Case):
    """A case with the study's own measures. Users request `requested` times the run time; 0: what the log says."""

    requested: float = 0
    counts_calls: bool = False

    @cached_property
    def key(self) -> str:
        """A hash of the replay, as that of any case, and of what is measured."""
        said = (super().key, self.requested, self.counts_calls)
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    def measures(self) -> Row:
        """Replay it, and compare it with the same jobs without coscheduling."""
        from cosched.sim.configuration import replay_config
        from cosched.sim.studies.meet.measuring import measures

        said = json.dumps(under(dict(self.settings), BASE), sort_keys=True)
        jobs, base = _without_coscheduling(said, self.requested)
        if self.labels["schemes"] == BASE:
            return measures(base, base)
        here = copy.copy(jobs)
        here.config = replay_config("case", {**self.settings, "events": self.counts_calls})
        return measures(here.run(), base)


@functools.lru_cache(maxsize=1)  # one after another, the cases of a workload read it once
def _without_coscheduling(said: str, requested: float) -> tuple[Replay, ReplayResult]:
    from cosched.sim.configuration import replay_config
    from cosched.sim.replaying import Replay

    settings: Mapping[str, Any] = json.loads(said)
    jobs = Replay(replay_config("case", dict(settings)))
    if requested:
        jobs.workloads = [
            replace(work, requested=np.ceil(work.run * requested).astype(np.int64)) for work in jobs.workloads
        ]
    return jobs, jobs.run()


def cases(experiments: Iterable[Experiment]) -> list[Case]:
    """Return every case, one experiment and one replication after another."""
    return [
        case
        for experiment in experiments
        for replication in range(1, experiment.replications + 1)
        for case in _of_replication(experiment, replication)
    ]


def _of_replication(experiment: Experiment, replication: int) -> Iterator[Case]:
    for point in experiment.points:
        settings = experiment.settings(point, replication)
        for schemes in experiment.schemes:
            labels: dict[str, Label] = dict(
                zip(LABELS, (experiment.name, float(point), schemes, replication), strict=True)
            )
            requested = point if experiment.requests_at else 0.0
            counts_calls = experiment.name == BY_LOAD and replication <= MOST_COUNTED
            yield MeetCase(under(settings, schemes), labels, requested, counts_calls)
