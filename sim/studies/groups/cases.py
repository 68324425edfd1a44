"""The cases of the study: each a replay of jobs in groups, or of the same jobs in pairs."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cosched.sim.studies.groups.setup import EXPERIMENTS, IN_PAIRS, SCHEMES, Experiment, under
from cosched.sim.studies.months import MonthsStudy
from cosched.sim.studies.tang2011.cases import LABELS
from cosched.sim.studies.tang2011.setup import BASE
from cosched.sim.sweeps.case import Case, Label, Row

if TYPE_CHECKING:
    from cosched.sim.replaying import Replay


@dataclass(frozen=True)
class GroupCase(Case):
    """A case with the study's own measures."""

    in_pairs: bool = False

    @cached_property
    def key(self) -> str:
        """A hash of the replay, as that of any case, and of whether its groups are pairs."""
        return hashlib.sha256(json.dumps((super().key, self.in_pairs)).encode()).hexdigest()[:16]

    def measures(self) -> Row:
        """Replay it."""
        from cosched.sim.configuration import replay_config
        from cosched.sim.studies.groups.measuring import all_groups, in_pairs, measures

        jobs = _jobs(json.dumps(under(dict(self.settings), BASE), sort_keys=True))
        here = copy.copy(jobs)
        here.config = replay_config("case", dict(self.settings))
        groups = all_groups(jobs.pairing)
        if self.in_pairs:
            here.pairing = in_pairs(groups)
        return measures(here.run(), groups)


@functools.lru_cache(maxsize=1)  # one after another, the cases of a workload read it once
def _jobs(said: str) -> Replay:
    from cosched.sim.configuration import replay_config
    from cosched.sim.replaying import Replay

    settings: Mapping[str, Any] = json.loads(said)
    return Replay(replay_config("case", dict(settings)))


def cases(replications: int, seed: int, days: float) -> list[Case]:
    """Return every case, one replication after another."""
    return [
        case
        for replication in range(1, replications + 1)
        for experiment in EXPERIMENTS
        for point in experiment.points
        for case in _of_point(experiment, point, replication, experiment.settings(point, seed + replication - 1, days))
    ]


def _of_point(experiment: Experiment, point: float, replication: int, settings: dict[str, Any]) -> Iterator[Case]:
    for place in places(experiment, point):
        labels: dict[str, Label] = dict(zip(LABELS, (experiment.name, float(point), place, replication), strict=True))
        schemes = place.removesuffix(IN_PAIRS)
        yield GroupCase(under(settings, schemes), labels, in_pairs=place != schemes)


def places(experiment: Experiment, point: float) -> Iterator[str]:
    """Yield the combinations at a point, with and without pairs instead of groups."""
    yield BASE
    for schemes in SCHEMES:
        yield schemes
        if experiment.has_groups(point):
            yield schemes + IN_PAIRS


STUDY = MonthsStudy("groups", 2, 10, lambda said: cases(said["replications"], said["seed"], said["days"]))
