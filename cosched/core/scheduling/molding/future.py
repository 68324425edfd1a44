"""What is foreseen of jobs that are still to come (molding.md, Prediction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cosched.core.scheduling.molding.jobs import ANY, Shares

HALF_HOUR, HALF_HOURS = 1800, 48  # the seconds of one; how many a day has
DAY = HALF_HOUR * HALF_HOURS


@dataclass(frozen=True, slots=True)
class Expected:
    """The jobs of one class, as means: how many come in each half hour from midnight on, their N_opt, run(N_opt) in s,
    and which part of them is moldable.
    """

    arrivals: tuple[float, ...]
    nodes: float
    run: float
    moldable: float = 1.0

    def count(self, since: int, until: int) -> float:
        """Return how many come in (since, until], pro rata in parts of half hours."""
        days, rest = divmod(until - since, DAY)
        found = days * sum(self.arrivals)
        at, end = since % DAY, since % DAY + rest
        while at < end:
            upto = min(end, (at // HALF_HOUR + 1) * HALF_HOUR)
            found += self.arrivals[at // HALF_HOUR % HALF_HOURS] * ((upto - at) / HALF_HOUR)
            at = upto
        return found

    def work(self, modifier: float, window: int, machine: int, sizes: Shares) -> float:
        """Return the mean work of one such job within so many seconds, in node-seconds; the rigid keep their size."""
        rigid = min(self.run, window) * self.nodes
        if self.moldable == 0:
            return rigid
        least, most = (float(share) * self.nodes for share in sizes)
        nodes = min(max(modifier * self.nodes, least, 1.0), most, float(machine))
        molded = min(self._time(nodes), window) * nodes
        return self.moldable * molded + (1 - self.moldable) * rigid

    def _time(self, nodes: float) -> float:
        """Return the run time on so many nodes by the simple curve."""
        speed = 3 * self.nodes + 10 * nodes if nodes <= self.nodes else 10 * self.nodes + 3 * nodes
        return 13 * self.nodes * self.run / speed


@dataclass(frozen=True, slots=True)
class Future:
    """The jobs that are expected, by class: short, medium, long."""

    classes: Sequence[Expected]

    def work(self, now: int, window: int, modifier: float, machine: int, sizes: Shares = ANY) -> float:
        """Return the work of those that come within so many seconds, in node-seconds."""
        found = 0.0
        for expected in self.classes:
            found += expected.count(now, now + window) * expected.work(modifier, window, machine, sizes)
        return found
