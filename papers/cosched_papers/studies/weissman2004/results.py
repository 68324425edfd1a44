"""The results of the cases: means over traces, differences on the same traces, and ratios of means."""

from __future__ import annotations

from dataclasses import dataclass

from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.setup import BEST, column, percent
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.measured import Many, Measured, Of, average, pairs, ratio

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
    """Return whether jobs of a policy may have another size than their ideal."""
    return not name.startswith("IDEAL")


@dataclass(frozen=True)
class Results(Measured):
    """The rows of the cases that have measures."""

    def spread(self, of: Many, to: Many) -> tuple[float, float] | None:
        """Return the least and the greatest ratio of single traces."""
        ratios = [one / other for one, other in pairs(self, of, to) if other > 0]
        return (min(ratios), max(ratios)) if ratios else None

    def factor(self, source: str, load: float, name: str, measure: str) -> Estimate | None:
        """Return how much more a baseline has in figure 14 than the best policy."""
        return ratio(self, at_load(source, load, name, measure), at_load(source, load, BEST, measure))

    def user_factor(self, application: str, beta: float, share: float, name: str, measure: str) -> Estimate | None:
        """Return how much more a baseline has in figures 15 and 16 than the best policy, unless that hardly waits."""
        best = of_user(application, beta, share, BEST, measure)
        least = average(self, best)
        if least is None or least.mean < LEAST_MIN:
            return None
        return ratio(self, of_user(application, beta, share, name, measure), best)
