"""The sizes that the jobs of a fluid domain get: what kernels note of them is told, and counted."""

from __future__ import annotations

from cosched.core.allocation import Allocation, Counts, SizeChanged
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.primitives.codes import NONE
from cosched_papers.fluid.rows import Rows


class Sizes:
    """Every start and every change of size: a part that the scheduler holds."""

    def __init__(self, rows: Rows, iteration: OpenIteration) -> None:
        self.started = 0  # jobs so far
        self.harvested = 0  # jobs that have left, and gave some
        self._noted = 0  # by kernels so far; sizes at a start, too
        self._changed: list[SizeChanged] = []
        self._rows, self._iteration = rows, iteration

    def note(self) -> None:
        """Take what the kernels have noted."""
        for row, at, procs, gave_to, resumes, expected in self._rows.take_log():
            job, rate = self._rows.id(row), self._rows.rate(row, procs)
            self._noted += 1
            self._iteration.have_changed[job] = None
            allocation = Allocation(procs, at, expected, rate, resumes, ends_by=self._rows.ends_by(row))
            self._changed.append(SizeChanged(job, allocation, None if gave_to == NONE else self._rows.id(gave_to)))

    def at_start(self, job: JobId) -> Allocation:
        """Return on what a job has just started."""
        self.started += 1
        self._rows.jobs["place"][self._rows[job]] = self.started
        self.note()
        started = next(changed for changed in reversed(self._changed) if changed.job == job)
        self._changed = [changed for changed in self._changed if changed.job != job]
        return started.allocation

    def take(self) -> list[SizeChanged]:
        """Return what has changed since the last time, in order; starts are not among it."""
        changed, self._changed = self._changed, []
        return changed

    def counts(self) -> dict[str, int]:
        """Return what was done so far (Counts)."""
        machine, jobs = self._rows.machine, self._rows.jobs
        had = int(machine["had"])
        harvested = self.harvested + int(((jobs["harvests"] > 0) & (jobs["state"] == JobState.RUNNING)).sum())
        return Counts(had, int(machine["tried"]) - had, harvested, self._noted - self.started)._asdict()
