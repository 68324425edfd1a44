"""The jobs and the state of one molding machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosched.core.protocol import JobId
from cosched.core.scheduling.base import is_sparse, room
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.sizes import Sizes
from cosched_papers.molding.future import Expected
from cosched_papers.molding.jobs import By, Molded
from cosched_papers.molding.kernels import iteration, loop, selecting, sizes
from cosched_papers.molding.kernels import state as codes
from cosched_papers.molding.kernels.state import FORKED, QUEUE, REAL, SCOJO, SCOJO_P, TRADITIONAL, Molds, new_state
from cosched_papers.molding.settings import MoldingSettings, Sizing

Ints = NDArray[np.int64]
RULES = {Sizing.SCOJO_P: SCOJO_P, Sizing.SCOJO: SCOJO, Sizing.CIRNE_BERMAN: TRADITIONAL, Sizing.NONE: TRADITIONAL}

NO_TIMES: Ints = np.zeros(0, np.int64)
HOW = {codes.TARGET: By.TARGET, codes.NOW: By.NOW, codes.BEHIND: By.BEHIND}
GONE = Molded("", 1, 1, 0, None, 1, 1)  # in the rows of jobs that have left


class Running(NamedTuple):
    """A job has so many nodes until `end`; FOREVER: nobody knows."""

    job: JobId
    nodes: int
    end: int


class Chosen(NamedTuple):
    """The size of a job that can start, how that came about, and the modifier of all sizes then."""

    size: int
    by: By
    modifier: float


class MoldingJobs(NamedTuple):
    """The jobs of a trace in the order of submission, and for how long they run on N_opt, in s."""

    jobs: Sequence[Molded]
    run: Ints


def run_time(job: Molded, nodes: int) -> int:
    """Return for how many seconds a job runs on so many nodes: T(n)."""
    if nodes != job.ideal and job.times is not None:
        return int(job.times[nodes - 1])
    return int(sizes.simple_time(job.ideal, job.run, nodes))


def make_state(settings: MoldingSettings, jobs: Sequence[Molded], rows: int, entries: int) -> Molds:
    """Return an empty machine with these rules, rows for these jobs, and room: for so many rows, and run times."""
    state = new_state(rows, settings.nodes, np.empty(entries, np.int64))
    fill(state, 0, jobs, 0)
    state.machine["sizing"], state.machine["max_bad"] = RULES[settings.sizing], settings.max_bad
    state.machine["backfill"] = settings.backfilling
    state.rules[:] = settings.ideal_load, settings.load_delta
    return foreseeing(state, settings)


def foreseeing(state: Molds, settings: MoldingSettings) -> Molds:
    """Return a machine with the jobs that are foreseen now."""
    classes = [] if settings.future is None else settings.future.classes
    arrivals = np.array([(*each.arrivals, sum(each.arrivals)) for each in classes]).reshape(-1, codes.WHOLE_DAY + 1)
    means = np.array([_means(settings, each) for each in classes]).reshape(-1, codes.MEANS)
    return state._replace(arrivals=arrivals, means=means)


def fill(state: Molds, first: int, jobs: Sequence[Molded], place: int) -> None:
    """Enter jobs from the row `first` on, and their run times from the entry `place` on."""
    rows = state.jobs[first : first + len(jobs)]
    for name in ("ideal", "least", "most", "guaranteed"):
        rows[name] = [getattr(job, name) for job in jobs]
    rows["submit"] = [job.submitted for job in jobs]
    rows["requested"] = [job.run for job in jobs]
    times = [NO_TIMES if job.times is None else job.times for job in jobs]
    places = np.cumsum([place, *map(len, times)])
    state.times[place : places[-1]] = np.concatenate([NO_TIMES, *times])
    rows["times"] = np.where(np.diff(places) > 0, places[:-1], NONE)


def _entries(jobs: Iterable[Molded]) -> int:
    return sum(0 if job.times is None else len(job.times) for job in jobs)


def _means(settings: MoldingSettings, of: Expected) -> tuple[float, ...]:
    least, most = (float(share) * of.nodes for share in settings.sizes)
    if of.a:
        least, most = 1.0, 2 * of.a - 1 if of.sigma <= 1 else of.a + of.a * of.sigma - of.sigma
    return of.nodes, of.run, of.moldable, max(least, 1.0), min(most, float(settings.nodes)), of.a, of.sigma


class Machine:
    """A machine whose jobs come and go, as iterations see it. Jobs have rows, in the order of their submission.

    An iteration is a real one (REAL), or is played beside it (FORKED) and changes nothing there.
    """

    def __init__(self, settings: MoldingSettings, jobs: Sequence[Molded] = ()) -> None:
        self._settings = settings
        self._open_iteration, self._choose = direct(iteration.open_iteration), direct(iteration.choose)
        self._sort, self._take = direct(sizes.sort), direct(iteration.take)
        self._renew(jobs)

    def _renew(self, jobs: Sequence[Molded]) -> None:
        """Make rows for these jobs alone, and room for as many more."""
        rows, self._entries = room(len(jobs)), _entries(jobs)
        self._state = make_state(self._settings, jobs, rows, room(self._entries))
        self._jobs, self._row = list(jobs), {job.id: row for row, job in enumerate(jobs)}
        self._queued = np.zeros(rows, np.bool_)  # by row
        self._beside()

    def _beside(self) -> None:
        """Give what is played a plan of its own."""
        self._played = self._state._replace(steps=np.empty_like(self._state.steps))

    # Jobs

    def add(self, job: Molded) -> None:
        """Note that a job is submitted."""
        entries = _entries([job])
        if len(self._jobs) == len(self._state.jobs) or self._entries + entries > len(self._state.times):
            self._tidy(job)
            return
        fill(self._state, len(self._jobs), [job], self._entries)
        self._entries += entries
        self._row[job.id] = len(self._jobs)
        self._jobs.append(job)

    def remove(self, job: JobId) -> None:
        """Note that a job has left."""
        self.queue(job, queued=False)
        self._jobs[self._row.pop(job)] = GONE
        if is_sparse(len(self._state.jobs), len(self._row)):
            self._tidy()

    def _tidy(self, *more: Molded) -> None:
        """Make rows for the jobs that have not left, and for these."""
        queued = [known.id for row, known in enumerate(self._jobs) if self._queued[row]]
        self._renew([*(self._jobs[row] for row in self._row.values()), *more])
        for id in queued:
            self.queue(id, queued=True)

    def queue(self, job: JobId, *, queued: bool) -> None:
        """Note whether the job is queued."""
        self._queued[self._row[job]] = queued

    def change(self, job: Molded) -> None:
        """Note that the sizes that the job can have are others."""
        record = self._state.jobs[self._row[job.id]]
        record["least"], record["most"], record["guaranteed"] = job.least, job.most, job.guaranteed

    def foresee(self, settings: MoldingSettings) -> None:
        """From now on these jobs are foreseen."""
        self._settings, self._state = settings, foreseeing(self._state, settings)
        self._beside()

    # Iterations

    def begin(self, now: int, free: int, running: Iterable[Running] = (), turns: Iterable[JobId] = ()) -> None:
        """Note that an iteration begins, in which these jobs have their turns, in order."""
        self._open(self._state, REAL, now, free, running, turns)

    def _open(
        self, state: Molds, world: int, now: int, free: int, running: Iterable[Running], turns: Iterable[JobId]
    ) -> None:
        machine, lists, row = state.machine[world], state.lists[world], self._row
        for name in ("reserved", "extra", "planned", "size", "by", "limit"):
            machine[name] = 0
        machine["guaranteed"], state.modifiers[world] = NONE, 1.0
        queued = np.flatnonzero(self._queued)
        lists[QUEUE, : len(queued)] = queued
        order = [row[job] for job in turns]
        lists[codes.TURNS, : len(order)] = order
        runs = np.array([(end, row[job], nodes) for job, nodes, end in running], np.int64).reshape(-1, 3)
        runs = runs[np.lexsort((runs[:, 1], runs[:, 0]))]
        lists[[codes.RUN_END, codes.RUN_ROW, codes.RUN_NODES], : len(runs)] = runs.T
        machine["now"], machine["free"] = now, free
        machine["queued"], machine["turns"], machine["running"] = len(queued), len(order), len(runs)
        self._open_iteration(state, world)

    def sorted(self, now: int) -> list[JobId]:
        """Return the queued jobs in the order in which they have their turn."""
        queued, machine = np.flatnonzero(self._queued), self._played.machine[FORKED]
        self._played.lists[FORKED, QUEUE, : len(queued)] = queued
        machine["now"], machine["queued"] = now, len(queued)
        self._sort(self._played, FORKED)
        jobs = self._jobs
        return [jobs[row].id for row in self._played.lists[FORKED, codes.TURNS, : len(queued)].tolist()]

    def choose(self) -> JobId | None:
        """Return the next job that can start, as `chosen` says."""
        row = int(self._choose(self._state, REAL, NONE))
        return None if row == NONE else self._jobs[row].id

    @property
    def chosen(self) -> Chosen:
        """How the job starts that was chosen last."""
        return self._chosen(REAL)

    def _chosen(self, world: int) -> Chosen:
        machine = self._state.machine[world]
        return Chosen(int(machine["size"]), HOW[int(machine["by"])], float(self._state.modifiers[world]))

    @property
    def hold_limit(self) -> int:
        """If that holds its nodes until then or less, it delays no reserved job."""
        return int(self._state.machine[REAL]["limit"])

    def take(self, job: JobId, nodes: int, end: int) -> None:
        """Note that a job has its nodes."""
        self._take(self._state, REAL, self._row[job], nodes, end)

    def take_guarantee(self, world: int = REAL) -> tuple[Molded, int] | None:
        """Return the job to which a size was guaranteed since the last time, and that size."""
        machine = self._state.machine[world]
        row, machine["guaranteed"] = int(machine["guaranteed"]), NONE
        return None if row == NONE else (self._jobs[row], int(self._state.jobs["guaranteed"][row]))

    def tries(
        self, job: JobId, now: int, free: int, running: Iterable[Running], turns: Iterable[JobId]
    ) -> Chosen | None:
        """Return how a job starts in an iteration in which those before it start; None: it does not."""
        self._open(self._played, FORKED, now, free, running, turns)
        found = bool(iteration.choose_up_to(self._played, FORKED, self._row[job]))
        if (guarantee := self.take_guarantee(FORKED)) is not None:
            self.change(guarantee[0])
        return self._chosen(FORKED) if found else None

    def earliest_size(self, job: JobId) -> int:
        """Return the size on which a queued job would end first (cirne_berman), as of the last `begin`."""
        return int(selecting.earliest_size(self._state, self._row[job]))


class MoldingTrace:
    """All jobs of a trace on one machine, without mates. Call `run` once."""

    def __init__(self, settings: MoldingSettings, jobs: MoldingJobs) -> None:
        self.state = make_state(settings, jobs.jobs, len(jobs.jobs), _entries(jobs.jobs))
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
        """Return how many jobs have started on fewer nodes than N_opt, and on more."""
        sizes, ideal = self.state.jobs["size"], self.state.jobs["ideal"]
        return {"shrunk": int((sizes < ideal).sum()), "expanded": int((sizes > ideal).sum())}
