"""The results of the cases: means over traces, differences on the same traces, and ratios of means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cosched.sim.results.estimate import Estimate, estimate, ratio_of_means
from cosched.sim.studies.measured import Measured, Of, Values
from cosched.sim.studies.paper import Named
from cosched.sim.studies.weissman2004 import setup
from cosched.sim.studies.weissman2004.setup import BEST, column, percent

LEAST_MIN = 1.0  # ratios to shorter times say nothing


def grid(model: str, share: float, name: str, measure: str) -> Of:
    """Return where the measure of a policy ("Even-H-FQ 3") is in figures 9 to 13."""
    return (model, share, ""), column(name, measure=measure)


def linear(share: float, policy: str, level: str, measure: str) -> Of:
    """Return where the measure of a policy is for linear jobs."""
    return grid(setup.LINEAR, share, column(policy, level), measure)


def at_load(source: str, load: float, name: str, measure: str) -> list[Of]:
    """Return where the measure of a policy is in figure 14: for all shares, or for jobs on their ideal."""
    places = [percent(share) for share in setup.SHARES] if chooses(name) else [setup.IDEAL]
    return [((setup.LOADS, load, f"{source}, {place}"), column(name, measure=measure)) for place in places]


def of_user(application: str, beta: float, share: float, name: str, measure: str) -> Of:
    """Return where the measure of a policy is in figures 15 and 16, and in table 3."""
    place = percent(share) if chooses(name) else setup.IDEAL
    return (application, beta, place), column(name, measure=measure)


def chooses(name: str) -> bool:
    """Whether jobs of a policy may have another size than their ideal."""
    return not name.startswith("IDEAL")


@dataclass(frozen=True)
class Results(Measured):
    """The rows of the cases that have measures."""

    def by_trace(self, of: Of | Sequence[Of]) -> Values:
        """Return a measure by trace, or the mean of several; what no trace has is left out."""
        found = [self.values(*each) for each in (of if isinstance(of, list) else [of])]
        traces = set[int]().union(*found)
        return {trace: float(np.mean([each[trace] for each in found if trace in each])) for trace in sorted(traces)}

    def average(self, of: Of | Sequence[Of]) -> Estimate | None:
        """Return the mean over traces."""
        values = list(self.by_trace(of).values())
        return estimate(values) if values else None

    def more(self, of: Of | Sequence[Of], than: Of | Sequence[Of]) -> Estimate | None:
        """Return how much more there is of one measure than of another, on the same traces."""
        pairs = self._pairs(of, than)
        return estimate([one - other for one, other in pairs]) if pairs else None

    def named(self, lines: Iterable[tuple[str, Of | list[Of], Of | list[Of]]]) -> list[Named]:
        """Return how much more there is of the first of each two, by their name."""
        return [(name, self.more(of, than)) for name, of, than in lines]

    def ratio(self, of: Of | Sequence[Of], to: Of | Sequence[Of]) -> Estimate | None:
        """Return the ratio of the means over traces."""
        return ratio_of_means(self._pairs(of, to))

    def spread(self, of: Of | Sequence[Of], to: Of | Sequence[Of]) -> tuple[float, float] | None:
        """Return the least and the greatest ratio of single traces."""
        ratios = [one / other for one, other in self._pairs(of, to) if other > 0]
        return (min(ratios), max(ratios)) if ratios else None

    def _pairs(self, of: Of | Sequence[Of], to: Of | Sequence[Of]) -> list[tuple[float, float]]:
        one, other = self.by_trace(of), self.by_trace(to)
        return [(one[trace], other[trace]) for trace in one if trace in other]

    def factor(self, source: str, load: float, name: str, measure: str) -> Estimate | None:
        """Return how much more a baseline has in figure 14 than the best policy."""
        return self.ratio(at_load(source, load, name, measure), at_load(source, load, BEST, measure))

    def user_factor(self, application: str, beta: float, share: float, name: str, measure: str) -> Estimate | None:
        """Return how much more a baseline has in figures 15 and 16 than the best policy, unless that hardly waits."""
        best = of_user(application, beta, share, BEST, measure)
        least = self.average(best)
        if least is None or least.mean < LEAST_MIN:
            return None
        return self.ratio(of_user(application, beta, share, name, measure), best)
