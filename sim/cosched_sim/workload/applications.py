"""Generated workloads of one user's parallel applications, whose sizes can change: Weissman et al. (2004), 4.1.

Every instance of table 1 has the same number of jobs, in an order drawn at random. Jobs are submitted at equal gaps of
beta x mean run time x mean size / 64. Run times and sizes grow together, so at beta = 1 the load is not 1 but 1.44
to 1.78.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from cosched_sim.workload.drawn import MOST_JOBS, check_range, drawn_log, machine_header
from cosched_sim.workload.jobs import Ints, TraceLog

PROCESSORS = 64
GE_P4_S = 21_400  # the paper prints 3,857, which is P3's; this gives the 1.78 jobs an hour of its table 3 (fluid.md)
RESIZE_S = 1  # and 9 s for 100,000 bytes: "approximately 1 + .00009 M"
SEQUENCE_BYTES = 1000  # SeqBlockSize, which the paper does not give


@dataclass(frozen=True, slots=True)
class Instance:
    """A problem: its ideal number of processors, its run time on these in s, and the bytes that a resize moves."""

    ideal: int
    run: int
    data: int


def _grid(size: int) -> int:
    return 2 * size**2 * 8


def _sequences(number: int) -> int:
    return 2 * number * SEQUENCE_BYTES


STENCIL = (
    Instance(4, 1289, _grid(128)),
    Instance(8, 6359, _grid(256)),
    Instance(10, 24_758, _grid(512)),
    Instance(14, 113_824, _grid(1024)),
)
GAUSS = (
    Instance(6, 177, _grid(128)),
    Instance(8, 768, _grid(256)),
    Instance(12, 3857, _grid(512)),
    Instance(18, GE_P4_S, _grid(1024)),
)
SEQUENCES = (
    Instance(10, 4815, _sequences(25)),
    Instance(16, 6666, _sequences(50)),
    Instance(24, 23_622, _sequences(100)),
    Instance(32, 244_800, _sequences(200)),
)
APPLICATIONS = MappingProxyType(
    {"stencil": STENCIL, "gauss": GAUSS, "sequences": SEQUENCES, "mixed": (*STENCIL, *GAUSS, *SEQUENCES)}
)


@dataclass(frozen=True, slots=True)
class ApplicationTrace:
    """What to draw: `jobs` of an application; `ge_p4`: the run time of the largest `gauss` instance, in s."""

    application: str
    jobs: int = 300
    beta: Fraction = Fraction(1, 2)
    ge_p4: int = GE_P4_S
    seed: int | None = None

    def __post_init__(self) -> None:
        """ValueError for a value out of range."""
        check_range("jobs", self.jobs, 1, MOST_JOBS)
        check_range("beta", self.beta, 0, 100)
        check_range("ge_p4", self.ge_p4, 1, 10**6)

    def log(self, seed: int) -> TraceLog:
        """Draw the jobs as if read from a file, with `seed` unless the trace states its own."""
        seed = seed if self.seed is None else self.seed
        last = GAUSS[-1]
        instances = [replace(of, run=self.ge_p4) if of is last else of for of in APPLICATIONS[self.application]]
        which = np.random.default_rng([seed, 2004]).permutation(np.resize(np.arange(len(instances)), self.jobs))
        values = ([getattr(instance, name) for instance in instances] for name in ("ideal", "run", "data"))
        ideal, run, data = (np.array(column, np.int64)[which] for column in values)
        one = np.ones(self.jobs, np.int64)
        columns = {"model": one, "resize_s": RESIZE_S * one, "resize_bytes": data}  # all are parabolic
        submit, header = self._submissions(instances), machine_header("cluster", PROCESSORS)
        source = f"generated:{self.application}"
        return drawn_log(source, submit=submit, run=run, size=ideal, header=header, columns=columns)

    def _submissions(self, instances: list[Instance]) -> Ints:
        """Return each at its number x the gap, rounded down."""
        run = Fraction(sum(instance.run for instance in instances), len(instances))
        ideal = Fraction(sum(instance.ideal for instance in instances), len(instances))
        gap = run * ideal * self.beta / PROCESSORS
        return np.arange(self.jobs, dtype=np.int64) * gap.numerator // gap.denominator
