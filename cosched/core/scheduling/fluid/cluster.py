"""The fluid scheduler of one domain whose jobs come and go, and have mates (fluid.md, With mates).

Every job comes back as ready (RunJob), also one without a mate. A ready job keeps what is free of its least; nobody
gives what it lacks before the answer is to start it, unless nodes change hands late: see `gathering`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cosched.core.allocation import NOT_NOW, Allocation, Counts, Gathered, Given, SizeChanged, Table
from cosched.core.events import NOT_HOLDABLE, Ready
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.fluid.gathering import Gathering
from cosched.core.scheduling.fluid.kernels import iteration, progress, promises
from cosched.core.scheduling.fluid.kernels.state import LEVEL, OVER
from cosched.core.scheduling.fluid.rows import Rows
from cosched.core.scheduling.fluid.settings import FluidSettings
from cosched.core.scheduling.fluid.share import GATHERS, USES, Share
from cosched.core.scheduling.open_iteration import Iterating
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob
from cosched.core.scheduling.starts import RecentStarts


class FluidCluster(Iterating):
    """The processors, the queue and the running jobs: an `ElasticScheduler` and a `GroupScheduler`."""

    capabilities = Capabilities(resize=True)
    keeps = frozenset({"share", "slot", "slot_moves", USES, GATHERS})

    def __init__(self, settings: FluidSettings) -> None:
        super().__init__()
        self.settings = settings
        self.nodes = settings.nodes
        self.starts = RecentStarts()  # none: nobody starts before their turn
        self._rows = Rows(settings)
        self._gathering = Gathering(self._rows, settings.nodes if settings.cap is None else settings.cap)
        self._resized: list[SizeChanged] = []
        self._sizes = self._started = 0  # noted by kernels so far; sizes at a start, too
        self._harvested = 0  # jobs that have left, and gave some

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        """A job is queued, or (after a restart) has what it had; ValueError if it cannot run here, or be counted."""
        self.iteration.interrupt()
        row = self._rows.add(job)
        if job.state is not JobState.RUNNING:
            iteration.enqueue(self._rows.state, row)
        self.iteration.take_up(job)
        if "share" in job.kept:
            promises.take_up(self._rows.state, row, int(job.state))
            share = Share(*job.kept["share"])
            self._started = max(self._started, share.place)
            if job.state is JobState.RUNNING:
                self._gathering.uses(job.id, job.kept.get(USES, share.nodes))
        self.changed = True

    def takes_up(self, job: ClusterJob) -> bool:
        """See OpenScheduler; of what others have started no work was counted."""
        return "share" in job.kept and super().takes_up(job)

    def check(self, job: ClusterJob) -> None:
        """See OpenScheduler."""
        self._rows.check(job)

    def predict(self, job: JobId, table: Table, now: int) -> None:
        """See OpenScheduler."""
        if self.settings.slots:
            raise ValueError("the slots here count with the times that were known before")
        self._rows.predict(job, table, now)
        self.iteration.interrupt()
        self.iteration.have_changed[job] = None
        self.changed = True

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        """See OpenScheduler."""
        self.iteration.interrupt()
        self._gathering.leave(job, now)
        row = self._rows.remove(job)
        state, records = self._rows.state, self._rows.jobs
        self._harvested += bool(records["harvests"][row])
        if records["state"][row] == JobState.RUNNING:
            progress.leave(state, row, int(how))
        elif records["state"][row] != JobState.QUEUED:
            promises.give_back(state, row)
            self._rows.machine["version"] += 1
        records["state"][row] = how
        self._rows.tidy()
        self.changed = True

    def job(self, job: JobId) -> ClusterJob:
        """Return all that is known of a job. One that gathers its nodes is queued: after a restart it begins anew."""
        known, late = self._rows.read(job), self._gathering.late(job)
        if job in self._gathering:
            kept = {name: value for name, value in known.kept.items() if name != "share"}
            return replace(known, state=JobState.QUEUED, kept={**kept, GATHERS: True})
        if known.state is JobState.RUNNING and late:
            uses = int(self._rows.jobs["procs"][self._rows[job]]) + late
            return replace(known, kept={**known.kept, USES: uses})
        return known

    def __contains__(self, job: JobId) -> bool:
        return job in self._rows

    # Iterations

    def next(self, now: int) -> Ready | None:
        """Go on with the scheduling iteration; a ready job, to be answered by start, hold or pass_over.

        None if nothing is left to do, or if an answer is awaited and nothing else has changed.
        """
        if self.iteration.offered is not None:
            return None
        state, machine = self._rows.state, self._rows.machine
        while machine["step"] != OVER or self.changed:
            if machine["step"] == OVER:
                self._begin(now)
            if (served := self._gathering.served()) is not None:
                self._gathering.end(served, now)
                return self._ready(self._rows[served])
            row = int(iteration.choose(state, now))
            self._note_sizes()
            if row != NONE and not self._gathers(self._rows.id(row), now):
                promises.make_ready(state, row)
                return self._ready(row)
        return None

    def _gathers(self, job: JobId, now: int) -> bool:
        """Return whether a job that can be had is not ready, or passed over, until others leave its nodes."""
        if not self._gathering.must_gather(job):
            return False
        self._gathering.at_turn(job, now)
        self._note_sizes()
        return True

    def _begin(self, now: int) -> None:
        super()._begin(now)
        self._gathering.begin()
        self.changed = False
        self._rows.machine["step"] = LEVEL

    def _ready(self, row: int) -> Ready:
        self.iteration.offered, least = self._rows.id(row), self._least(row)
        may_hold = self._rows.jobs["procs"][row] == least.nodes and self._gathering.may_hold(self.iteration.offered)
        return Ready(self.iteration.offered, least, FOREVER if may_hold else NOT_HOLDABLE)

    def _least(self, row: int, start: int = 0) -> Allocation:
        """Return what a job has at least when it starts."""
        return Allocation(int(self._rows.jobs["least"][row]), start)

    def abandon(self) -> None:
        """See Iterating."""
        self.iteration.offered = None
        self._rows.machine["step"] = OVER

    def count_as_of(self, since: int, now: int) -> None:
        """See Iterating."""
        jobs, machine = self._rows.jobs, self._rows.machine
        jobs["passed_over"][jobs["passed_over"] > since] = now + 1
        jobs["released"][jobs["released"] >= since] = now
        if machine["released_at"] >= since:
            machine["released_at"] = now

    def passes_over(self, now: int) -> bool:
        """See Iterating."""
        jobs = self._rows.jobs
        return bool(((jobs["passed_over"] == now + 1) & (jobs["state"] == JobState.QUEUED)).any())

    # Answers to a ready job, and what happens to others

    def start(self, job: JobId, now: int) -> Allocation:
        """Start a ready or holding job, by harvest if some of its least is not free."""
        self.iteration.answer(job)
        return self._start_promised(job, now)

    def _start_promised(self, job: JobId, now: int) -> Allocation:
        with self._gathering.only_free():
            promises.start_promised(self._rows.state, self._rows[job], now)
        return self._note_start(job, now)

    def hold(self, job: JobId, now: int, until: int) -> None:  # noqa: ARG002
        """Keep a ready job's least."""
        self.iteration.answer(job)
        promises.hold(self._rows.state, self._rows[job])

    def ask_again(self, job: JobId) -> None:
        """A holding job is ready again, on what it has."""
        self._rows.jobs["state"][self._rows[job]] = JobState.READY

    def pass_over(self, job: JobId, now: int, boost: float) -> None:  # noqa: ARG002
        """Give back what a ready job keeps; it is passed over at this instant. Nobody overtakes by yields."""
        late, alone = job != self.iteration.offered, not self.changed
        self.iteration.answer(job)
        row = self._rows[job]
        self._gathering.gives_back(job, now)
        promises.give_back(self._rows.state, row)
        self._rows.jobs["passed_over"][row] = now + 1
        self.iteration.yielded(now, late=late, alone=alone)
        if late:
            self._rows.machine["version"] += 1  # it may have held

    def release(self, job: JobId, now: int) -> None:
        """End a hold by force."""
        self.iteration.interrupt()
        self._gathering.gives_back(job, now)
        promises.release(self._rows.state, self._rows[job], now)
        self.changed = True

    def reschedule(self, job: JobId | None = None) -> None:
        """See Scheduler: what has changed for a job may be that its mate is there, or that it starts alone."""
        if job is not None:
            self._gathering.ask_anew(job)
        super().reschedule(job)

    def take_events(self) -> list[SizeChanged | Gathered]:
        """See ElasticScheduler."""
        resized, self._resized = self._resized, []
        return [*resized, *self._gathering.take_events()]

    def lag(self) -> None:
        """See OpenScheduler: from now on jobs with mates gather their nodes."""
        self._gathering.lags = True

    def uses(self, job: JobId, nodes: int) -> None:
        """See OpenScheduler: jobs that gather may have all their nodes by that."""
        if job not in self._rows or self._rows.jobs["state"][self._rows[job]] != JobState.RUNNING:
            return
        self.iteration.have_changed[job] = None
        if self._gathering.uses(job, nodes) and self._gathering:
            self.iteration.interrupt()
            self.changed = True

    def kept_free(self) -> int:
        """See OpenScheduler."""
        return self._gathering.kept

    def _note_start(self, job: JobId, now: int) -> Allocation:
        self._started += 1
        self._rows.jobs["place"][self._rows[job]] = self._started
        self._note_sizes()
        started = next(resized for resized in reversed(self._resized) if resized.job == job)
        self._resized = [resized for resized in self._resized if resized.job != job]
        self._gathering.started(job, started.allocation.nodes, now)
        return started.allocation

    def _note_sizes(self) -> None:
        """Take what the kernels have noted: every start and every change of size."""
        for row, at, procs, gave_to, resumes, expected in self._rows.take_log():
            job, rate = self._rows.id(row), self._rows.rate(row, procs)
            self._sizes += 1
            self.iteration.have_changed[job] = None
            allocation = Allocation(procs, at, expected, rate, resumes, ends_by=self._rows.ends_by(row))
            self._resized.append(SizeChanged(job, allocation, None if gave_to == NONE else self._rows.id(gave_to)))

    # What peers ask for

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:  # noqa: ARG002
        """TryStartMate: start a queued job if an iteration run now would; else it is wanted until then.

        A job that is not here, since its user holds it, does not start. One whose nodes others have still to leave
        gathers them, and asks then.
        """
        if job not in self._rows:
            return NOT_NOW
        gathered = job in self._gathering
        if not self._has_nodes(job, now):
            self.want_until(job, wanted_until)
            return NOT_NOW
        self.iteration.interrupt()
        self.changed = True
        if gathered:
            return self._start_promised(job, now)
        with self._gathering.only_free():
            iteration.start(self._rows.state, self._rows[job], now)
        return self._note_start(job, now)

    def _has_nodes(self, job: JobId, now: int) -> bool:
        """Return whether the job can start for its mate on free nodes; if others must leave some, it gathers."""
        if job in self._gathering:
            return job == self._gathering.served()
        if not self._can_start(job, now):
            return False
        if not self._gathering.must_gather(job):
            return True
        self._gathering.asked_for(job, now)
        self._note_sizes()
        self.changed = True
        return False

    def _can_start(self, job: JobId, now: int) -> bool:
        """Return whether an iteration would start it, other paired jobs passed over, and it can be had alone."""
        rows, row = self._rows, self._rows[job]
        if rows.jobs["state"][row] != JobState.QUEUED or not promises.would_start(rows.copied(), row, now):
            return False
        return bool(iteration.can_be_had(rows.state, row, now))

    def try_ready(self, job: JobId, now: int) -> Given:
        """See GroupScheduler."""
        if job not in self._rows:
            return NOT_NOW
        gathered = job in self._gathering
        if not self._has_nodes(job, now):
            return NOT_NOW
        self.iteration.keep(job, changed=self.changed)
        if gathered:
            self._gathering.end(job, now)
        else:
            promises.make_ready(self._rows.state, self._rows[job])
        return self._least(self._rows[job])

    def give_back(self, job: JobId, now: int) -> None:
        """See GroupScheduler."""
        missed = self.iteration.missed(job) | self._gathering.gives_back(job, now)
        promises.give_back(self._rows.state, self._rows[job])
        self.changed = self.changed or missed

    def want_until(self, job: JobId, until: int) -> None:
        """See GroupScheduler."""
        if job in self._rows:
            self._rows.jobs["wanted_until"][self._rows[job]] = min(until, NEVER)

    def count_paired(self, job: JobId, paired: bool) -> None:
        """Whether a dry run passes over the job. One that has no mate any more need not gather its nodes."""
        if job not in self._rows:
            return
        self._rows.jobs["paired"][self._rows[job]] = paired
        if not paired and job in self._gathering:
            self._gathering.end(job, self.now)
            self._gathering.ask_anew(job)
            promises.give_back(self._rows.state, self._rows[job])
            self.reschedule(job)

    # Numbers

    def counts(self) -> Mapping[str, Any]:
        """What was done to the sizes of jobs so far."""
        machine, jobs = self._rows.machine, self._rows.jobs
        had = int(machine["had"])
        harvested = self._harvested + int(((jobs["harvests"] > 0) & (jobs["state"] == JobState.RUNNING)).sum())
        counted = Counts(had, int(machine["tried"]) - had, harvested, self._sizes - self._started)._asdict()
        return {**counted, "harvests_in_vain": self._gathering.in_vain} if self._gathering.lags else counted

    def used(self) -> dict[JobState, int]:
        """Processors of ready, holding and running jobs."""
        jobs = self._rows.jobs
        return {state: int(jobs["procs"][jobs["state"] == state].sum()) for state in WITH_NODES}

    @property
    def free(self) -> int:
        """Processors that nobody has."""
        return int(self._rows.machine["avail"])
