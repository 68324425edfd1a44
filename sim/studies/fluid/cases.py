"""The cases of the study: each a replay of a month with one scheduler of Eureka."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cosched.sim.studies.fluid.setup import COMBINATIONS, points, settings
from cosched.sim.studies.months import MonthsStudy
from cosched.sim.studies.tang2011.cases import LABELS
from cosched.sim.sweeps.case import Case, Label, Row


@dataclass(frozen=True)
class FluidCase(Case):
    """A case with the study's own measures."""

    def measures(self) -> Row:
        """Replay it."""
        from cosched.sim.configuration import replay_config
        from cosched.sim.replaying import run
        from cosched.sim.studies.fluid.measuring import measures

        return measures(run(replay_config("case", dict(self.settings))))


def cases(replications: int, seed: int, days: float, *, quick: bool) -> list[Case]:
    """Return every case, one replication after another."""
    found: list[Case] = []
    for replication in range(1, replications + 1):
        for kind, share in points(quick):
            for schemes in COMBINATIONS:
                labels: dict[str, Label] = dict(zip(LABELS, (kind.name, share, schemes, replication), strict=True))
                found.append(FluidCase(settings(kind, share, schemes, replication, seed, days), labels))
    return found


def _said(said: dict[str, Any]) -> list[Case]:
    return cases(said["replications"], said["seed"], said["days"], quick=said["quick"])


STUDY = MonthsStudy("fluid", 2, 8, _said)
