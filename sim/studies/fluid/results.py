"""Differences of a fluid Eureka from a batch one, on the same workloads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.fluid.measuring import TOTAL
from cosched.sim.studies.fluid.setup import BATCH, COMBINATIONS, EUREKA, INTREPID, points
from cosched.sim.studies.measured import Measured, verdict_of
from cosched.sim.studies.meet.measuring import HELD, PAIR_WAIT, PAIRS, SYNC, TOGETHER, WAIT

# Of each less is better.
COMPARED = (PAIR_WAIT, f"{INTREPID} {SYNC}", f"{INTREPID} {WAIT}", f"{EUREKA} {WAIT}", f"{EUREKA} {TOTAL}")
SHOWN = (*COMPARED, f"{INTREPID} {HELD}", f"{EUREKA} {HELD}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more of a measure a fluid Eureka has than a batch one; all `simultaneous` intervals hold together."""

    kind: str
    share: float
    schemes: str
    measure: str
    batch: Estimate
    difference: Estimate
    simultaneous: Estimate

    @property
    def verdict(self) -> str:
        """Whether a fluid Eureka has less (better) or more (worse), or the simultaneous interval leaves it open."""
        return verdict_of(self.simultaneous)


@dataclass(frozen=True)
class Results(Measured):
    """The rows of the cases that have measures."""

    @cached_property
    def places(self) -> list[tuple[str, float]]:
        """The schedulers of Eureka, each with the share of pairs, that have results."""
        return [
            (kind.name, share)
            for kind, share in points(quick=False)
            if any(self.count((kind.name, share, schemes)) for schemes in COMBINATIONS)
        ]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons; their number corrects the simultaneous intervals (Bonferroni)."""
        asked = [
            (kind, share, schemes, measure)
            for kind, share in self.places
            for schemes in COMBINATIONS
            for measure in COMPARED
            if kind != BATCH.name and self.comparable((kind, share, schemes), (BATCH.name, share, schemes), measure)
        ]
        return [self._compare(*each, len(asked)) for each in asked]

    def _compare(self, kind: str, share: float, schemes: str, measure: str, intervals: int) -> Comparison:
        here, batch = (kind, share, schemes), (BATCH.name, share, schemes)
        rival, one = self.mean(batch, measure), self.difference(here, batch, measure)
        together = self.difference(here, batch, measure, intervals)
        assert rival is not None
        assert one is not None
        assert together is not None
        return Comparison(kind, share, schemes, measure, rival, one, together)

    def apart(self) -> tuple[int, int]:
        """Return how many pairs there were in all cases, and how many of these did not start together."""
        pairs = together = 0.0
        for kind, share in self.places:
            for schemes in COMBINATIONS:
                pairs += sum(self.values((kind, share, schemes), PAIRS).values())
                together += sum(self.values((kind, share, schemes), TOGETHER).values())
        return round(pairs), round(pairs - together)
