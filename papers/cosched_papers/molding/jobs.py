"""A job as the rules of molding see it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

from cosched.core.protocol import JobId
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.molding.curves import Downey, Measured

if TYPE_CHECKING:  # a service beside a batch system does without arrays
    from cosched_papers.molding.curves import Ints

MAX_WORK = 1 << 57  # of a job on N_opt, in node-seconds: T(n) is counted in 64 bits
TOO_MUCH = "the size and the requested time are too large: their product must be less than 2^57"

BY, MODIFIER = "by", "modifier"  # what is kept of a job with nodes: how its size came about, and figure 2's modifier


class By(StrEnum):
    """How the size of a job came about."""

    TARGET = "target"  # it was the first job, and its target was free
    NOW = "now"  # it was the first job, and ends sooner on all free nodes than on its target later
    BEHIND = "behind"  # it was behind the first job, which waits
    CHOSEN = "chosen"  # it chose by itself when it was submitted


@dataclass(frozen=True, slots=True)
class Moldable:
    """The scheduler chooses the job's size when it starts. `curve`: how long it runs on which; None: the simple one.

    `least` and `most`: the sizes that its owner allows, within those of the curve; 0: as the curve has it.
    """

    curve: Downey | Measured | None = None
    least: int = 0
    most: int = 0


class Shares(NamedTuple):
    """From which to which share of N_opt a job may have."""

    least: Fraction = Fraction(1, 2)
    most: Fraction = Fraction(2)

    def __str__(self) -> str:
        """Return them as the key `sizes` has them."""
        return f"{float(self.least)}..{float(self.most)}"


ANY = Shares()


@dataclass(slots=True, eq=False)
class Molded:
    """A job that can have `least` to `most` nodes, but no fewer than are `guaranteed`; `ideal` is N_opt.

    `times`: its run times on 1, 2, ... nodes, in s; None: it has the simple curve.
    """

    id: JobId
    ideal: int
    run: int  # on `ideal`, as was asked for, in s
    submitted: int
    how: Moldable | None
    least: int
    most: int
    times: Ints | None = None
    guaranteed: int = 0

    @classmethod
    def of(cls, job: ClusterJob, machine: int, sizes: Shares = ANY) -> Molded:
        """Return a job of a machine of so many nodes; without a curve of its own it may have these `sizes`.

        ValueError: its times cannot be counted.
        """
        ideal, run, how = job.nodes, job.requested, job.columns if isinstance(job.columns, Moldable) else None
        _check_work(ideal * run)
        least, most = (ideal, ideal) if how is None else _bounds(how, ideal, run, machine, sizes)
        times = None if how is None or how.curve is None else how.curve.times(ideal, run, most)
        return cls(job.id, ideal, run, job.submitted, how, least, most, times)

    def keep_to(self, nodes: int) -> None:
        """Note that the job has this size, and no other."""
        self.least = self.most = nodes

    @property
    def smallest(self) -> int:
        """The least size that it can be given now."""
        return max(self.least, self.guaranteed)


def check_sizes(job: ClusterJob, machine: int, sizes: Shares = ANY) -> None:
    """ValueError if the job wants sizes that it cannot have by its curve, by the domain's `sizes`, or at all."""
    ideal, run, how = job.nodes, job.requested, job.columns
    _check_work(ideal * run)
    if not isinstance(how, Moldable):
        return
    least, most = _curve_bounds(how.curve, ideal, run, sizes)
    most = min(most, machine)
    asked = {name: nodes for name, nodes in (("min_nodes", how.least), ("max_nodes", how.most)) if nodes}
    if len(asked) == 2 and how.most < how.least:
        raise ValueError(f"min_nodes: {how.least} is more than max_nodes, {how.most}")
    for name, nodes in asked.items():
        if nodes > ideal if name == "min_nodes" else nodes < ideal:
            raise ValueError(f"{name}: {nodes}, and the job's best size is {ideal}, which must be allowed")
        if not least <= nodes <= most:
            raise ValueError(f"{name}: {nodes} wanted, and here a job for {ideal} nodes has {least} to {most}")


def _bounds(how: Moldable, ideal: int, run: int, machine: int, sizes: Shares) -> tuple[int, int]:
    """Return N_min and N_max; ValueError: the size is not within these."""
    least, most = _curve_bounds(how.curve, ideal, run, sizes)
    least = how.least or least
    return least, max(least, min(how.most or most, machine))


def _curve_bounds(curve: Downey | Measured | None, ideal: int, run: int, sizes: Shares) -> tuple[int, int]:
    if curve is None:
        least = ceil(sizes.least * ideal)
        return least, max(least, floor(sizes.most * ideal))
    if isinstance(curve, Measured):
        if not curve.least <= ideal <= curve.most:
            known = f"its run times are those on {curve.least} to {curve.most}"
            raise ValueError(f"{ideal} nodes wanted, and {known}: its best size must be one of them")
        _check_work(curve.most * run * curve.seconds[0] // curve.seconds[ideal - curve.least])
    elif ideal > curve.most:
        raise ValueError(f"{ideal} nodes wanted, by its speed-up the job can use no more than {curve.most}")
    return curve.least, curve.most


def _check_work(node_seconds: int) -> None:
    if node_seconds >= MAX_WORK:
        raise ValueError(TOO_MUCH)
