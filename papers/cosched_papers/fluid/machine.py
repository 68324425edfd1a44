"""The jobs and the state of one fluid machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosched.core.allocation import Counts, Table
from cosched.core.scheduling.primitives.sizes import Sizes
from cosched_papers.fluid.kernels import loop
from cosched_papers.fluid.kernels.speeds import UNIT
from cosched_papers.fluid.kernels.state import UNLIMITED, Fluid, new_state
from cosched_papers.fluid.models import MAX_IDEAL, MAX_RATIO, MAX_RUN, MAX_TIME, MAX_WORK, Curves, told
from cosched_papers.fluid.settings import Distribution, FluidSettings

Ints = NDArray[np.int64]
LOG = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class FluidJobs:
    """Jobs in the order of submission, one row each.

    `least` to `ideal`: how many processors they can use. `run`, `requested`: how long they run on `ideal`, really and
    as was asked for, in s. A resize suspends a job for `fixed` s and 9 s for each 100,000 of the `data` bytes that each
    processor has, rounded up. `tables`: what some jobs, by their rows, have told instead.
    """

    submit: Ints
    least: Ints
    ideal: Ints
    run: Ints
    requested: Ints
    parabolic: NDArray[np.bool_]
    fixed: Ints
    data: Ints
    tables: Mapping[int, Table] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.submit)


class FluidTrace:
    """All jobs of a trace on one machine, without mates. Call `run` once."""

    def __init__(self, settings: FluidSettings, jobs: FluidJobs) -> None:
        """ValueError: a job cannot run here."""
        check_jobs(jobs, settings.nodes)
        self.state = make_state(settings, len(jobs), told(jobs.tables.values()))
        sizes = [len(table.times) for table in jobs.tables.values()]
        fill(self.state, 0, jobs, np.cumsum([0, *sizes])[:-1])
        self.state.machine["jobs"] = len(jobs)

    def counts(self, sizes: Sizes) -> Counts:
        """Count what `run` has done."""
        machine, harvests = self.state.machine[0], self.state.jobs["harvests"]
        had, starts = int(machine["had"]), len(harvests)
        return Counts(had, int(machine["tried"]) - had, int((harvests > 0).sum()), len(sizes.row) - starts)

    def run(self) -> Sizes:
        """Run all jobs to their ends."""
        parts = []
        done = False
        while not done:
            done = bool(loop.advance(self.state))
            parts.append(self.state.log[: int(self.state.machine["logged"][0])].copy())
            self.state.machine["logged"] = 0
        return Sizes(*np.concatenate(parts).T[:4])


def make_state(settings: FluidSettings, jobs: int, curves: Curves, log: int = LOG) -> Fluid:
    """Return a machine with these rules and room for so many jobs. `curves`: those of jobs that have told them."""
    state = new_state(jobs, settings.nodes, *curves, log)
    level = UNLIMITED if settings.level is None else settings.level
    rules = {
        "level": level if settings.resizes else 0,  # nobody is asked to give
        "harvesting": settings.harvesting.value,
        "favor_running": settings.distribution is Distribution.FAVOR_RUNNING,
        "resizes": settings.resizes,
        "max_harvests": UNLIMITED if settings.max_harvests is None else settings.max_harvests,
        "protect_age": settings.protect_age,
        "benefit": settings.benefit,
        "wanted_first": settings.wanted_first,
    }
    for name, value in rules.items():
        state.machine[name] = value
    return state


def check_jobs(jobs: FluidJobs, nodes: int) -> None:
    """ValueError: a job cannot run on so many processors, or its work cannot be counted exactly."""
    if (jobs.least > nodes).any():
        raise ValueError(f"{int(jobs.least.max())} processors wanted at least, the machine has {nodes}")
    for row, table in jobs.tables.items():
        _check_table(table, int(jobs.ideal[row] - jobs.least[row]) + 1, int(jobs.requested[row]))
    if (jobs.requested[jobs.parabolic] >= MAX_RUN).any():
        less = f"less than {MAX_RUN:,} s"
        raise ValueError(f"parabolic jobs must be requested for {less}: shorten these, or make them linear")
    if (jobs.ideal[jobs.parabolic] > MAX_IDEAL).any():
        raise ValueError(f"parabolic jobs have at most {MAX_IDEAL:,} processors: make larger ones linear")
    if (jobs.ideal.astype(float) * jobs.requested >= MAX_WORK).any():
        raise ValueError("the sizes and requested times are too large: the work of a job must be less than 2^62")


def _check_table(table: Table, sizes: int, requested: int) -> None:
    """ValueError: what a job predicts is not that of its sizes, or its work cannot be counted so."""
    if not len(table.times) == len(table.costs) == sizes:
        raise ValueError(f"the job has {sizes} sizes, but tells {len(table.times)} times and {len(table.costs)} costs")
    if not 1 <= min(table.times) <= max(table.times) < MAX_TIME:
        raise ValueError(f"times must be 1 or more, and less than {MAX_TIME:,}")
    if not 0 <= min(table.costs) <= max(table.costs) < MAX_RUN:
        raise ValueError(f"costs from 0 s to less than {MAX_RUN:,} s are expected, for each size one")
    if max(table.times) > MAX_RATIO * min(table.times):
        raise ValueError(f"an iteration takes more than {MAX_RATIO:,} times as long on one size as on another")
    if requested >= MAX_RUN:
        raise ValueError(f"jobs whose times are predicted must be requested for less than {MAX_RUN:,} s")


def fill(state: Fluid, first: int, jobs: FluidJobs, curves: Ints) -> None:
    """Enter jobs, which are not submitted yet, from the row `first` on.

    `curves`: where the state has the speeds and costs of each of their tables.
    """
    rows = state.jobs[first : first + len(jobs)]
    for name in ("submit", "least", "ideal", "parabolic", "fixed", "data"):
        rows[name] = getattr(jobs, name)
    unit = np.where(jobs.parabolic, UNIT, jobs.ideal)
    with_tables = [*jobs.tables]
    if with_tables:
        rows["told"][with_tables] = 1
        rows["curve"][with_tables] = begin = curves - jobs.least[with_tables]
        unit[with_tables] = state.speeds[begin + jobs.ideal[with_tables]]
    rows["work"] = unit * jobs.requested
    rows["spare"] = unit * (jobs.requested - jobs.run)
