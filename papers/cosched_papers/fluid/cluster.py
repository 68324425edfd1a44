"""The fluid scheduler of one domain whose jobs come and go, and have mates (fluid.md, With mates).

Every job comes back as ready (RunJob), also one without a mate. A ready job keeps what is free of its least; nobody
gives what it lacks before the answer is to start it, unless nodes change hands late: see `gathering`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cosched.core.allocation import NOT_NOW, Allocation, Gathered, Given, SizeChanged, Table
from cosched.core.events import NOT_HOLDABLE, Ready
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.base import SchedulerBase
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob
from cosched.core.scheduling.starts import RecentStarts
from cosched_papers.fluid.gathering import Gathering
from cosched_papers.fluid.kernels import iteration, progress, promises
from cosched_papers.fluid.kernels.state import LEVEL, OVER
from cosched_papers.fluid.rows import Rows
from cosched_papers.fluid.settings import FluidSettings
from cosched_papers.fluid.share import GATHERS, USES, Share
from cosched_papers.fluid.sizes import Sizes
from cosched_papers.fluid.slots import FluidSlots


class FluidCluster(SchedulerBase):
    """The processors, the queue and the running jobs: an `ElasticScheduler` and a `GroupScheduler`."""

    meeting: FluidSlots | None
    keeps = frozenset({"share", "slot", "slot_moves", USES, GATHERS})

    def __init__(self, settings: FluidSettings) -> None:
        self.capabilities = Capabilities(resize=True, slots=settings.slots)
        self.settings = settings
        self.nodes = settings.nodes
        self.starts = RecentStarts()  # none: nobody starts before their turn
        self.rows = Rows(settings)
        self.gathering = Gathering(self.rows, settings.nodes if settings.cap is None else settings.cap)
        self.iteration = OpenIteration(self, self.rows)
        self.sizes = Sizes(self.rows, self.iteration)
        parts = self.rows, self.gathering, self.sizes, self.iteration
        self.meeting = FluidSlots(*parts) if settings.slots else None
        self._enqueue, self._choose = direct(iteration.enqueue), direct(iteration.choose)
        self._make_ready, self._start_one = direct(promises.make_ready), direct(promises.start_promised)
        self._end_run = direct(progress.leave)

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        """A job is queued, or (after a restart) has what it had; ValueError if it cannot run here, or be counted."""
        self.iteration.interrupt()
        row = self.rows.add(job)
        if job.state is not JobState.RUNNING:
            self._enqueue(self.rows.state, row)
        self.iteration.take_up(job)
        if "share" in job.kept:
            promises.take_up(self.rows.state, row, int(job.state))
            share = Share(*job.kept["share"])
            self.sizes.started = max(self.sizes.started, share.place)
            if job.state is JobState.RUNNING:
                self.gathering.uses(job.id, job.kept.get(USES, share.nodes))
        if self.meeting is not None:
            self.meeting.submit(job)
        self.changed = True

    def takes_up(self, job: ClusterJob) -> bool:
        """See OpenScheduler; of what others have started no work was counted."""
        return "share" in job.kept and super().takes_up(job)

    def check(self, job: ClusterJob) -> None:
        self.rows.check(job)

    def predict(self, job: JobId, table: Table, now: int) -> None:
        if self.settings.slots:
            raise ValueError("the slots here count with the times that were known before")
        self.rows.predict(job, table, now)
        self.iteration.interrupt()
        self.iteration.have_changed[job] = None
        self.changed = True

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        self.iteration.interrupt()
        self.iteration.forget(job)
        if self.meeting is not None:
            self.meeting.leave(job)
        self.gathering.leave(job, now)
        row = self.rows.remove(job)
        state, records = self.rows.state, self.rows.jobs
        self.sizes.harvested += bool(records["harvests"][row])
        if records["state"][row] == JobState.RUNNING:
            self._end_run(state, row, int(how))
        elif records["state"][row] != JobState.QUEUED:
            promises.give_back(state, row)
            self.rows.machine["version"] += 1
        records["state"][row] = how
        self.rows.tidy()
        self.changed = True

    def job(self, job: JobId) -> ClusterJob:
        """Return all that is known of a job. One that gathers its nodes is queued: after a restart it begins anew."""
        known, late = self.rows.read(job), self.gathering.late(job)
        if job in self.gathering:
            kept = {name: value for name, value in known.kept.items() if name != "share"}
            return replace(known, state=JobState.QUEUED, kept={**kept, GATHERS: True})
        if known.state is JobState.RUNNING and late:
            uses = int(self.rows.jobs["procs"][self.rows[job]]) + late
            return replace(known, kept={**known.kept, USES: uses})
        return known

    def __contains__(self, job: JobId) -> bool:
        return job in self.rows

    # Iterations

    def next(self, now: int) -> Ready | None:
        """Go on with the scheduling iteration; a ready job, to be answered by start, hold or pass_over.

        None if nothing is left to do, or if an answer is awaited and nothing else has changed.
        """
        if self.iteration.offered is not None:
            return None
        state, machine = self.rows.state, self.rows.machine
        while machine["step"] != OVER or self.changed:
            if machine["step"] == OVER:
                self._begin(now)
            if (served := self.gathering.served()) is not None:
                self.gathering.end(served, now)
                return self._ready(self.rows[served])
            row = int(self._choose(state, now))
            self.sizes.note()
            if row != NONE and not self._gathers(self.rows.id(row), now):
                self._make_ready(state, row)
                return self._ready(row)
        return None

    def _gathers(self, job: JobId, now: int) -> bool:
        """Return whether a job that can be had is not ready, or passed over, until others leave its nodes."""
        if not self.gathering.must_gather(job):
            return False
        self.gathering.at_turn(job, now)
        self.sizes.note()
        return True

    def _begin(self, now: int) -> None:
        self.iteration.begin(now)
        self.gathering.begin()
        self.changed = False
        self.rows.machine["step"] = LEVEL

    def _ready(self, row: int) -> Ready:
        self.iteration.offered, least = self.rows.id(row), self.rows.at_least(row)
        may_hold = self.rows.jobs["procs"][row] == least.nodes and self.gathering.may_hold(self.iteration.offered)
        return Ready(self.iteration.offered, least, FOREVER if may_hold else NOT_HOLDABLE)

    def abandon(self) -> None:
        self.iteration.offered = None
        self.rows.machine["step"] = OVER

    # Answers to a ready job, and what happens to others

    def start(self, job: JobId, now: int) -> Allocation:
        """Start a ready or holding job, by harvest if some of its least is not free."""
        self.iteration.answer(job)
        return self._start_promised(job, now)

    def _start_promised(self, job: JobId, now: int) -> Allocation:
        with self.gathering.only_free():
            self._start_one(self.rows.state, self.rows[job], now)
        return self._note_start(job, now)

    def hold(self, job: JobId, now: int, until: int) -> None:  # noqa: ARG002
        """Keep a ready job's least."""
        self.iteration.answer(job)
        promises.hold(self.rows.state, self.rows[job])

    def ask_again(self, job: JobId) -> None:
        """Note that a holding job is ready again, on what it has."""
        self.iteration.ask_again(job)
        self.rows.jobs["state"][self.rows[job]] = JobState.READY

    def pass_over(self, job: JobId, now: int, boost: float) -> None:  # noqa: ARG002
        """Give back what a ready job keeps; it is passed over at this instant. Nobody overtakes by yields."""
        late, at_turn, alone = self.iteration.is_late(job), job == self.iteration.offered, not self.changed
        self.iteration.answer(job)
        row = self.rows[job]
        self.gathering.gives_back(job, now)
        promises.give_back(self.rows.state, row)
        self.rows.jobs["passed_over"][row] = now + 1
        self.iteration.yielded(now, late=late, alone=alone)
        if not at_turn:
            self.rows.machine["version"] += 1  # it may have held

    def release(self, job: JobId, now: int) -> None:
        """End a hold by force."""
        self.iteration.interrupt()
        self.gathering.gives_back(job, now)
        promises.release(self.rows.state, self.rows[job], now)
        self.changed = True

    def reschedule(self, job: JobId | None = None) -> None:
        """See Scheduler: what has changed for a job may be that its mate is there, or that it starts alone."""
        if job is not None:
            self.gathering.ask_anew(job)
        super().reschedule(job)

    def take_events(self) -> list[SizeChanged | Gathered]:
        return [*self.sizes.take(), *self.gathering.take_events()]

    def lag(self) -> None:
        """See OpenScheduler: from now on jobs with mates gather their nodes."""
        self.gathering.lags = True

    def uses(self, job: JobId, nodes: int) -> None:
        """See OpenScheduler: jobs that gather may have all their nodes by that."""
        if job not in self.rows or self.rows.jobs["state"][self.rows[job]] != JobState.RUNNING:
            return
        self.iteration.have_changed[job] = None
        if self.gathering.uses(job, nodes) and self.gathering:
            self.iteration.interrupt()
            self.changed = True

    def kept_free(self) -> int:
        return self.gathering.kept

    def _note_start(self, job: JobId, now: int) -> Allocation:
        allocation = self.sizes.at_start(job)
        self.gathering.started(job, allocation.nodes, now)
        return allocation

    # What peers ask for

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:  # noqa: ARG002
        """TryStartMate: start a queued job if an iteration run now would; else it is wanted until then.

        A job that is not here, since its user holds it, does not start. One whose nodes others have still to leave
        gathers them, and asks then.
        """
        if job not in self.rows:
            return NOT_NOW
        gathered = job in self.gathering
        if not self._has_nodes(job, now):
            self.want_until(job, wanted_until)
            return NOT_NOW
        self.iteration.interrupt()
        self.changed = True
        if gathered:
            return self._start_promised(job, now)
        with self.gathering.only_free():
            iteration.start(self.rows.state, self.rows[job], now)
        return self._note_start(job, now)

    def _has_nodes(self, job: JobId, now: int) -> bool:
        """Return whether the job can start for its mate on free nodes; if others must leave some, it gathers."""
        if job in self.gathering:
            return job == self.gathering.served()
        if not self._can_start(job, now):
            return False
        if not self.gathering.must_gather(job):
            return True
        self.gathering.asked_for(job, now)
        self.sizes.note()
        self.changed = True
        return False

    def _can_start(self, job: JobId, now: int) -> bool:
        """Return whether an iteration would start it, other paired jobs passed over, and it can be had alone."""
        rows, row = self.rows, self.rows[job]
        if rows.jobs["state"][row] != JobState.QUEUED or not rows.would_start(row, now):
            return False
        return bool(iteration.can_be_had(rows.state, row, now))

    def try_ready(self, job: JobId, now: int) -> Given:
        if job not in self.rows:
            return NOT_NOW
        gathered = job in self.gathering
        if not self._has_nodes(job, now):
            return NOT_NOW
        self.iteration.keep(job, changed=self.changed)
        if gathered:
            self.gathering.end(job, now)
        else:
            promises.make_ready(self.rows.state, self.rows[job])
        return self.rows.at_least(self.rows[job])

    def give_back(self, job: JobId, now: int) -> None:
        missed = self.iteration.missed(job) | self.gathering.gives_back(job, now)
        promises.give_back(self.rows.state, self.rows[job])
        self.changed = self.changed or missed

    def want_until(self, job: JobId, until: int) -> None:
        if job in self.rows:
            self.rows.jobs["wanted_until"][self.rows[job]] = min(until, NEVER)

    def count_paired(self, job: JobId, paired: bool) -> None:
        """Note whether a dry run passes over the job. One that has no mate any more need not gather its nodes."""
        if job not in self.rows:
            return
        self.rows.jobs["paired"][self.rows[job]] = paired
        if not paired and job in self.gathering:
            self.gathering.end(job, self.now)
            self.gathering.ask_anew(job)
            promises.give_back(self.rows.state, self.rows[job])
            self.reschedule(job)

    # Numbers

    def counts(self) -> Mapping[str, Any]:
        """Return what was done to the sizes of jobs so far."""
        counted = self.sizes.counts()
        return {**counted, "harvests_in_vain": self.gathering.in_vain} if self.gathering.lags else counted

    def used(self) -> dict[JobState, int]:
        """Processors of ready, holding and running jobs."""
        jobs = self.rows.jobs
        return {state: int(jobs["procs"][jobs["state"] == state].sum()) for state in WITH_NODES}

    @property
    def free(self) -> int:
        """Processors that nobody has."""
        return int(self.rows.machine["avail"])
