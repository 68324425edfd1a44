"""The jobs of a fluid domain that come and go, as rows of the kernels' arrays, in the order of submission."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched.core.allocation import Allocation, Malleable, Table
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.base import is_sparse, room
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob
from cosched_papers.fluid.kernels import progress, promises
from cosched_papers.fluid.kernels.state import QUEUED, Fluid
from cosched_papers.fluid.machine import FluidJobs, check_jobs, fill, make_state
from cosched_papers.fluid.models import MAX_RUN, Curves, told
from cosched_papers.fluid.settings import FluidSettings

Ints = NDArray[np.int64]
OF_SHARE = ("procs", "left", "since", "resume", "start", "harvests", "place")  # the columns of Share
GONE = ClusterJob("", 0, 0, 0, paired=False)  # in the rows of jobs that have left
# What a start changes of a queued job, whatever it was before.
UNSTARTED = dict.fromkeys(("procs", "left", "since", "resume", "expected", "harvests"), 0)
UNSTARTED |= {"start": NONE, "end": NONE, "state": QUEUED}
LEFT_QUEUE = JobState.RUNNING  # this state and all after it


class Rows:
    """A machine, and which job is which row. `state`, `jobs` and `machine` are others after `add`."""

    def __init__(self, settings: FluidSettings) -> None:
        self._settings = settings
        self._row: dict[JobId, int] = {}
        self._job: list[ClusterJob] = []  # by row, as submitted; some have left
        self._curves: dict[JobId, slice] = {}  # of jobs that have told theirs: their entries in `speeds` and `costs`
        self._speed_of = direct(progress.speed)
        self._use(make_state(settings, room(), told(()), log=0))

    def _use(self, state: Fluid) -> None:
        self.state, self.machine = state, state.machine[0]
        self._lists, self._log = np.empty_like(state.lists), np.empty_like(state.log)  # of dry runs
        self.jobs = state.jobs[: len(self._job)]  # some have left

    # Jobs in and out

    def add(self, job: ClusterJob) -> int:
        """Make a row of a job that is submitted; ValueError."""
        one = self.check(job) if job.state is JobState.QUEUED else _columns(job)
        if len(self._job) == len(self.state.jobs):
            self._renew()
        row = len(self._job)
        self._row[job.id] = row
        self._job.append(job)
        self._fill(row, one)
        self.jobs = self.state.jobs[: row + 1]
        self._restore(row, job)
        return row

    def _fill(self, row: int, one: FluidJobs) -> None:
        """Enter a job, and what it has told of its sizes: instead of what it has told before."""
        places = [self._keep_curve(self._job[row].id, table) for table in one.tables.values()]
        fill(self.state, row, one, np.array(places, np.int64))

    def _keep_curve(self, job: JobId, table: Table) -> int:
        """Return where its entries begin. A job has as many sizes each time."""
        curve, state = told([table]), self.state
        if job not in self._curves:
            begin = len(state.speeds)
            self._curves[job] = slice(begin, begin + len(curve.speeds))
            speeds, costs = np.append(state.speeds, curve.speeds), np.append(state.costs, curve.costs)
            state = state._replace(speeds=speeds, costs=costs)
            self._use(state)
        place = self._curves[job]
        state.speeds[place], state.costs[place] = curve
        return int(place.start)

    def _forget_curve(self, job: JobId, row: int) -> None:
        """Give back the entries of a job that leaves, once as many are of nobody as of somebody."""
        del self._curves[job]
        self.jobs["told"][row] = 0
        used = sum(place.stop - place.start for place in self._curves.values())
        if len(self.state.speeds) < 2 * used:
            return
        entries = np.r_[tuple(self._curves.values()) or slice(0)]
        self._use(self.state._replace(speeds=self.state.speeds[entries], costs=self.state.costs[entries]))
        end = 0
        for other, place in self._curves.items():
            self.jobs["curve"][self._row[other]] += end - place.start
            self._curves[other] = slice(end, end := end + place.stop - place.start)

    def predict(self, job: JobId, table: Table, now: int) -> None:
        """A running job has these times and costs from now on; ValueError. What it has done counts as so much of all.

        Work left is rounded up.
        """
        known = self._job[self._row[job]]
        known = replace(known, columns=replace(known.columns or Malleable(known.nodes), table=table))
        one = self.check(known)
        row = self._row[job]
        before = self.unit(row)
        progress.count(self.state, row, now)
        self._job[row] = known
        self._fill(row, one)
        record = self.jobs[row]
        record["left"] = -(-int(record["left"]) * self.unit(row) // before)
        progress.renew_end(self.state, row)

    def _restore(self, row: int, job: ClusterJob) -> None:
        """Set what was kept of a job over a restart; of most there is nothing."""
        record = self.jobs[row]
        record["paired"], record["passed_over"] = job.paired, job.passed_over
        record["wanted_until"] = job.wanted_until
        if job.released:
            record["released"] = job.released
            self.machine["released_at"] = max(self.machine["released_at"], job.released)
        if "share" in job.kept:
            for name, value in zip(OF_SHARE, job.kept["share"], strict=True):
                record[name] = value

    def check(self, job: ClusterJob) -> FluidJobs:
        """Return the columns of a job; ValueError if it cannot run here, or its work cannot be counted."""
        one = _columns(job)
        if one.least[0] > one.ideal[0]:
            raise ValueError(f"least: {one.least[0]} is more than its nodes, {one.ideal[0]}")
        if job.state is JobState.QUEUED:
            _check_said(one)
        check_jobs(one, self._settings.nodes)
        return one

    def remove(self, job: JobId) -> int:
        """Forget a job; its row, which is to be brought into its final state."""
        row = self._row.pop(job)
        if job in self._curves:
            self._forget_curve(job, row)
        self._job[row] = GONE  # what it has said is dropped with it
        return row

    def tidy(self) -> None:
        """Give back the rows of jobs that have left, once they are most of all."""
        if is_sparse(len(self.state.jobs), len(self._row)):
            self._renew()

    def _renew(self) -> None:
        """Make a new state, without the jobs that have left, and with room for as many more."""
        old, records = self.state, self.jobs
        kept = np.array(sorted(self._row.values()), np.int64)
        self._job = [self._job[row] for row in kept.tolist()]
        now_at = np.full(len(records) + 1, NONE, np.int64)  # where each row is afterwards; the last entry is for NONE
        now_at[kept] = np.arange(len(kept))
        state = make_state(self._settings, room(len(kept)), Curves(old.speeds, old.costs), log=0)
        state.jobs[: len(kept)] = records[kept]
        state.machine[:] = old.machine
        machine = state.machine[0]
        queue = old.queue[: machine["queued"]]
        queue = queue[records["state"][queue] < LEFT_QUEUE]
        running = old.running[: machine["running"]]
        state.queue[: len(queue)], state.running[: len(running)] = now_at[queue], now_at[running]
        machine["head"], machine["queued"] = 0, len(queue)
        machine["failed"], machine["planned_for"] = now_at[machine["failed"]], NONE
        self._row = {job.id: row for row, job in enumerate(self._job)}
        self._use(state)

    # Jobs by their ids

    def __contains__(self, job: JobId) -> bool:
        return job in self._row

    def __getitem__(self, job: JobId) -> int:
        return self._row[job]

    def id(self, row: int) -> JobId:
        """Return the job of this row."""
        return self._job[row].id

    def at_least(self, row: int, start: int = 0) -> Allocation:
        """Return what a job has at least when it starts."""
        return Allocation(int(self.jobs["least"][row]), start)

    def read(self, job: JobId) -> ClusterJob:
        """Return all that is known of a job."""
        row = self._row[job]
        record = self.jobs[row]
        state = JobState(int(record["state"]))
        return replace(
            self._job[row],
            paired=bool(record["paired"]),
            state=state,
            expected=int(record["expected"]) if state is JobState.RUNNING else NONE,
            passed_over=int(record["passed_over"]),
            wanted_until=int(record["wanted_until"]),
            released=max(0, int(record["released"])),
            kept=_own(record, state),
        )

    # Yields and releases (OpenIteration)

    def count_as_of(self, since: int, now: int) -> None:
        """Let yields and releases from the instant `since` on count as of `now`."""
        jobs, machine = self.jobs, self.machine
        jobs["passed_over"][jobs["passed_over"] > since] = now + 1
        jobs["released"][jobs["released"] >= since] = now
        if machine["released_at"] >= since:
            machine["released_at"] = now

    def passes_over(self, now: int) -> bool:
        """Return whether some queued job has yielded at this instant."""
        return bool(((self.jobs["passed_over"] == now + 1) & (self.jobs["state"] == JobState.QUEUED)).any())

    # What kernels need and tell

    def would_start(self, row: int, now: int) -> bool:
        """Return whether an iteration starts this job, if other paired jobs are passed over.

        It is played on the state itself, and undone: queued jobs are passed over and start, running ones are resized.
        """
        state, machine = self.state, self.state.machine.copy()
        running = state.running[: int(self.machine["running"])].copy()
        had, marks = self.jobs[running], {name: self.jobs[name].copy() for name in ("passed_over", "slot")}
        state.machine["planned_for"] = NONE
        starts = bool(promises.would_start(self._aside(), row, now))
        started = state.running[len(running) : int(self.machine["running"])]
        for name, value in UNSTARTED.items():
            self.jobs[name][started] = value
        self.jobs[running] = had
        for name, values in marks.items():
            self.jobs[name] = values
        state.machine[:] = machine
        return starts

    def _aside(self) -> Fluid:
        """Return the state for a dry run, with lists of its own; no harvest is planned in these."""
        return self.state._replace(lists=self._lists, log=self._log)

    def copied(self) -> Fluid:
        """Return a copy of the state, for a dry run that goes on to the ends of jobs; no harvest is planned there."""
        state, queued = self._aside(), self.state.queue[: len(self._job)]
        copy = state._replace(jobs=self.jobs.copy(), queue=queued.copy(), running=state.running.copy())
        copy = copy._replace(machine=state.machine.copy())
        copy.machine["planned_for"] = NONE
        return copy

    def take_log(self) -> Iterator[tuple[int, ...]]:
        """Return what kernels have noted since the last time: see `state.LOG`."""
        count = int(self.machine["logged"])
        self.machine["logged"] = 0
        return map(tuple, self.state.log[:count].tolist())

    def rate(self, row: int, procs: int) -> Fraction:
        """Return how many seconds of its run time on `ideal` the job does in a second."""
        return Fraction(self._speed(row, procs), self.unit(row))

    def ends_by(self, row: int) -> int:
        """Return when a job that has started has run at the latest, if it has its least from its start on."""
        job, record = self._job[row], self.jobs[row]
        if not job.columns or job.columns.least == job.nodes:
            return 0
        return int(record["start"]) - (-job.requested * self.unit(row) // self._speed(row, job.columns.least))

    def unit(self, row: int) -> int:
        """Return the work that the job does in a second on `ideal`."""
        return self._speed(row, int(self.jobs["ideal"][row]))

    def _speed(self, row: int, procs: int) -> int:
        return int(self._speed_of(self.state, row, procs))


def _own(record: np.void, state: JobState) -> dict[str, Any]:
    """Return what is kept of a job beside what all schedulers know; `share`: the fields of a Share."""
    kept: dict[str, Any] = {"share": [int(record[name]) for name in OF_SHARE]} if state in WITH_NODES else {}
    if record["slot"]:
        kept["slot"] = int(record["slot"]) - 1
    if record["moves"] != SlotMoves.BY_ITSELF:
        kept["slot_moves"] = int(record["moves"])
    return kept


def _check_said(one: FluidJobs) -> None:
    """ValueError: a number that a new job says has no meaning; logs are not so strict."""
    if one.least[0] < 1:
        raise ValueError(f"least: {one.least[0]} is below 1: a job has a node, or more")
    if not 0 <= one.fixed[0] < MAX_RUN:
        raise ValueError(f"resize_s: {one.fixed[0]} is not a time from 0 s to less than {MAX_RUN:,} s")
    if one.data[0] < 0:
        raise ValueError(f"resize_bytes: {one.data[0]} is below 0")


def _columns(job: ClusterJob) -> FluidJobs:
    how = job.columns or Malleable(job.nodes)

    def column(value: int) -> Ints:
        return np.array([value], np.int64)

    requested = column(job.requested)
    return FluidJobs(
        submit=column(job.submitted),
        least=column(how.least),
        ideal=column(job.nodes),
        run=requested,
        requested=requested,
        parabolic=np.array([how.parabolic]),
        fixed=column(how.fixed),
        data=column(how.data),
        tables={} if how.table is None else {0: how.table},
    )
