"""The jobs and the state of one molding machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosched.core.scheduling.molding.future import Expected
from cosched.core.scheduling.molding.jobs import By, Molded
from cosched.core.scheduling.molding.kernels import iteration, loop, selecting, sizes
from cosched.core.scheduling.molding.kernels.state import (
    BEHIND,
    NOW,
    QUEUE,
    REAL,
    SCOJO,
    SCOJO_P,
    TARGET,
    TRADITIONAL,
    TURNS,
    Molds,
    new_state,
)
from cosched.core.scheduling.molding.settings import MoldingSettings, Sizing
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.sizes import Sizes

Ints = NDArray[np.int64]
RULES = {
    Sizing.SCOJO_P: SCOJO_P,
    Sizing.SCOJO: SCOJO,
    Sizing.CIRNE_BERMAN: TRADITIONAL,
    Sizing.NONE: TRADITIONAL,
}

NO_TIMES: Ints = np.zeros(0, np.int64)
HOW = {TARGET: By.TARGET, NOW: By.NOW, BEHIND: By.BEHIND}


class Running(NamedTuple):
    """A job has so many nodes until `end`; FOREVER: nobody knows."""

    job: Molded
    nodes: int
    end: int


class MoldingJobs(NamedTuple):
    """The jobs of a trace in the order of submission, and for how long they run on N_opt, in s."""

    jobs: Sequence[Molded]
    run: Ints


def run_time(job: Molded, nodes: int) -> int:
    """Return for how many seconds a job runs on so many nodes: T(n)."""
    if nodes != job.ideal and job.times is not None:
        return int(job.times[nodes - 1])
    return int(sizes.simple_time(job.ideal, job.run, nodes))


def make_state(settings: MoldingSettings, jobs: Sequence[Molded]) -> Molds:
    """Return an empty machine with these rules, and rows for these jobs."""
    times = [NO_TIMES if job.times is None else job.times for job in jobs]
    places = np.cumsum([0, *map(len, times)])
    state = new_state(len(jobs), settings.nodes, np.concatenate([NO_TIMES, *times]))
    for name in ("ideal", "least", "most", "guaranteed"):
        state.jobs[name] = [getattr(job, name) for job in jobs]
    state.jobs["submit"] = [job.submitted for job in jobs]
    state.jobs["requested"] = [job.run for job in jobs]
    state.jobs["times"] = np.where(np.diff(places) > 0, places[:-1], NONE)
    state.machine["sizing"], state.machine["max_bad"] = RULES[settings.sizing], settings.max_bad
    state.machine["backfill"] = settings.backfilling
    state.rules[:] = settings.ideal_load, settings.load_delta
    if settings.future is None:
        return state
    classes = settings.future.classes
    arrivals = np.array([(*each.arrivals, sum(each.arrivals)) for each in classes])
    return state._replace(arrivals=arrivals, means=np.array([_means(settings, each) for each in classes]))


def _means(settings: MoldingSettings, of: Expected) -> tuple[float, ...]:
    """Return a row of `means`."""
    least, most = (float(share) * of.nodes for share in settings.sizes)
    if of.a:
        least, most = 1.0, 2 * of.a - 1 if of.sigma <= 1 else of.a + of.a * of.sigma - of.sigma
    return of.nodes, of.run, of.moldable, max(least, 1.0), min(most, float(settings.nodes)), of.a, of.sigma


class Machine:
    """A machine at one instant, as an iteration sees it.

    `queued`: all jobs that wait, in the order of submission; `turns`: those that have their turn, in order. Nothing
    that happens here changes the jobs themselves.
    """

    def __init__(
        self,
        settings: MoldingSettings,
        now: int,
        free: int,
        running: Iterable[Running],
        queued: Sequence[Molded],
        turns: Iterable[Molded] = (),
    ) -> None:
        run = list(running)
        self._jobs = [*queued, *(each.job for each in run)]
        self._row = {job.id: row for row, job in enumerate(self._jobs)}
        self._state = state = make_state(settings, self._jobs)
        self._machine = state.machine[REAL]
        self._machine["now"], self._machine["free"], self._machine["queued"] = now, free, len(queued)
        state.lists[REAL, QUEUE, : len(queued)] = np.arange(len(queued))
        for each in run:
            iteration.run(state, REAL, self._row[each.job.id], each.nodes, each.end)
        order = [self._row[job.id] for job in turns]
        state.lists[REAL, TURNS, : len(order)] = order
        self._machine["turns"] = len(order)
        iteration.open_iteration(self._state, REAL)

    def sorted(self) -> list[int]:
        """Return the places of the queued jobs, in the order in which they have their turn."""
        sizes.sort(self._state, REAL)
        return [int(row) for row in self._state.lists[REAL, TURNS, : int(self._machine["turns"])]]

    def choose(self) -> Molded | None:
        """Return the next job that can start, on `size` nodes."""
        row = int(iteration.choose(self._state, REAL, NONE))
        return None if row == NONE else self._jobs[row]

    @property
    def size(self) -> int:
        """The size of the job that was chosen last."""
        return int(self._machine["size"])

    @property
    def by(self) -> By:
        """How that came about."""
        return HOW[int(self._machine["by"])]

    @property
    def modifier(self) -> float:
        """The modifier of all sizes."""
        return float(self._state.modifiers[REAL])

    @property
    def hold_limit(self) -> int:
        """If that holds its nodes until then or less, it delays no reserved job."""
        return int(self._machine["limit"])

    def take(self, job: Molded, nodes: int, end: int) -> None:
        """A job has its nodes."""
        iteration.take(self._state, REAL, self._row[job.id], nodes, end)

    def take_guarantee(self) -> tuple[Molded, int] | None:
        """Return the job to which a size was guaranteed since the last time, and that size."""
        row = int(self._machine["guaranteed"])
        self._machine["guaranteed"] = NONE
        return None if row == NONE else (self._jobs[row], int(self._state.jobs["guaranteed"][row]))

    def chooses(self, job: Molded) -> bool:
        """Whether a job can start in an iteration in which those before it start."""
        return bool(iteration.choose_up_to(self._state, REAL, self._row[job.id]))

    def earliest_size(self, job: Molded) -> int:
        """Return the size on which a queued job would end first (cirne_berman)."""
        return int(selecting.earliest_size(self._state, self._row[job.id]))


class MoldingTrace:
    """All jobs of a trace on one machine, without mates. Call `run` once."""

    def __init__(self, settings: MoldingSettings, jobs: MoldingJobs) -> None:
        self.state = make_state(settings, jobs.jobs)
        rows = self.state.jobs
        rows["run"] = jobs.run
        self.state.machine["selects"] = settings.sizing is Sizing.CIRNE_BERMAN
        if settings.sizing is Sizing.NONE:
            rows["least"] = rows["most"] = rows["ideal"]

    def run(self) -> Sizes:
        """Run all jobs to their ends."""
        loop.play(self.state)
        rows, started = self.state.jobs, self.state.started
        return Sizes(started, rows["start"][started], rows["size"][started], np.full(len(started), NONE, np.int64))

    def counts(self) -> dict[str, int]:
        """How many jobs have started on fewer nodes than N_opt, and on more."""
        sizes, ideal = self.state.jobs["size"], self.state.jobs["ideal"]
        return {"shrunk": int((sizes < ideal).sum()), "expanded": int((sizes > ideal).sum())}
