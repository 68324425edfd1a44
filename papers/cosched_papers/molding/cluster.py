"""The scheduler of a domain whose jobs are molded, and come and go, with mates (molding.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

from cosched.core.allocation import Allocation
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.plain import QUEUED, READY, PlainJob, PlainScheduler
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.molding.jobs import BY, MODIFIER, By, Moldable, Molded, check_sizes
from cosched_papers.molding.kernels.times import DAY
from cosched_papers.molding.machine import Chosen, Machine, Running, run_time
from cosched_papers.molding.past import Past
from cosched_papers.molding.settings import CAPABILITIES, MoldingSettings, Sizing

CHOSEN, GUARANTEED = "chosen", "guaranteed"  # what is kept of a job: the size that it has chosen, its least size,
COUNTED, PAST = "counted", "past"  # and whether it is in the domain's past; what is kept of that


class Molding(PlainScheduler):
    """The queue, the nodes, and the sizes of jobs: `core.scheduling.scheduler.OpenScheduler`."""

    capabilities = CAPABILITIES
    keeps = PlainScheduler.keeps | {CHOSEN, GUARANTEED, BY, MODIFIER, COUNTED}

    def __init__(self, settings: MoldingSettings) -> None:
        super().__init__(settings.nodes)
        self._settings = settings
        self._past = Past() if settings.learns else None
        self._learned = 0  # on this day
        self._molded: dict[JobId, Molded] = {}
        self._machine = Machine(settings)
        self._last: PlainJob | None = None  # that had its turn
        self._shrunk = self._expanded = 0  # jobs that have started on fewer nodes than N_opt; on more

    # Jobs in and out

    def check(self, job: ClusterJob) -> None:
        check_sizes(job, self.nodes, self._settings.sizes)

    def submit(self, job: ClusterJob) -> None:
        """See OpenScheduler; ValueError if the job cannot run here."""
        molded = Molded.of(job, self.nodes, self._settings.sizes)
        self._molded[job.id] = molded
        self._machine.add(molded)
        super().submit(job)
        kept = self.jobs[job.id].kept
        molded.guaranteed = kept.get(GUARANTEED, 0)
        if self._past is not None and COUNTED not in kept:
            self._past.add(molded, moldable=isinstance(job.columns, Moldable))
            kept[COUNTED] = True
            self.iteration.have_changed[job.id] = None
        if self._settings.sizing is Sizing.NONE:
            molded.keep_to(job.nodes)
        elif self._settings.sizing is Sizing.CIRNE_BERMAN:
            if job.state is QUEUED and CHOSEN not in kept:
                now = max(self.now, job.submitted)
                self._machine.begin(now, self.free, self._running(now))
                kept[CHOSEN] = self._machine.earliest_size(job.id)
                self.iteration.have_changed[job.id] = None
            molded.keep_to(kept.get(CHOSEN, job.nodes))
        self._machine.change(molded)

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        super().leave(job, now, how)
        self._machine.remove(job)
        del self._molded[job]

    def least(self, job: JobId) -> int:
        """Return the fewest nodes that the job can be given now."""
        return self._molded[job].smallest

    def _learn(self, now: int) -> None:
        """Each day it is learned anew what to expect."""
        if self._past is not None and self._learned != now // DAY:
            self._learned = now // DAY
            self._settings = replace(self._settings, future=self._past.future(now))
            self._machine.foresee(self._settings)

    # Iterations

    def _order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:  # noqa: ARG002
        """Short jobs come first, then medium ones, then long ones; who has waited long moves up."""
        return [self.jobs[job] for job in self._machine.sorted(self.now)]

    def _become(self, job: PlainJob, state: JobState) -> None:
        super()._become(job, state)
        self._machine.queue(job.asked.id, queued=state is QUEUED)

    def _running(self, now: int) -> Iterator[Running]:
        """Return the jobs that have nodes; a ready one is about to start."""
        for id, job in self.busy.items():
            yield Running(id, job.nodes, now + self.duration(job) if job.state is READY else job.expected)

    def _begin(self, now: int) -> None:
        super()._begin(now)
        self._learn(now)
        turns = (job.asked.id for job in self._in_order(now) if job.passed_over != now + 1)
        self._machine.begin(now, self.free, self._running(now), turns)
        self._last = None

    def _choose(self, now: int) -> PlainJob | None:  # noqa: ARG002
        machine, last = self._machine, self._last
        if last is not None and last.state is not QUEUED:
            machine.take(last.asked.id, last.size, last.expected)
        turn = machine.choose()
        guarantee = machine.take_guarantee()
        if guarantee is not None:
            job, nodes = guarantee
            job.guaranteed = self.jobs[job.id].kept[GUARANTEED] = nodes
            self.iteration.have_changed[job.id] = None
        if turn is None:
            return None
        self._last = self.jobs[turn]
        self._size(self._last, machine.chosen)
        return self._last

    def _size(self, job: PlainJob, chosen: Chosen) -> None:
        """The job starts on the size that was chosen."""
        job.size = chosen.size
        if isinstance(job.asked.columns, Moldable) and self._settings.sizing is not Sizing.NONE:
            job.kept |= {BY: By.CHOSEN if CHOSEN in job.kept else chosen.by, MODIFIER: chosen.modifier}

    def _queue(self, job: PlainJob) -> None:
        super()._queue(job)
        for name in (BY, MODIFIER):
            job.kept.pop(name, None)

    def _hold_limit(self, job: PlainJob) -> int:  # noqa: ARG002
        return self._machine.hold_limit

    def _would_start(self, job: JobId, now: int) -> bool:
        """See PlainScheduler: an iteration is played; only the job's size is left of it."""
        if job not in self.jobs or self.jobs[job].state is not QUEUED:
            return False
        self._learn(now)
        turns = (other.asked.id for other in self._in_order(now) if self._has_turn(other, job, now))
        chosen = self._machine.tries(job, now, self.free, self._running(now), turns)
        if chosen is not None:
            self._size(self.jobs[job], chosen)
        return chosen is not None

    @staticmethod
    def _has_turn(job: PlainJob, tried: JobId, now: int) -> bool:
        """Return whether a job has its turn in a dry run for another one."""
        return job.asked.id == tried or not (job.asked.paired or job.passed_over == now + 1)

    def copy(self) -> Self:
        other = super().copy()
        other._past = copy(self._past)
        other._molded = {id: copy(job) for id, job in self._molded.items()}
        other._machine = Machine(self._settings, list(other._molded.values()))
        for id, job in other.jobs.items():
            other._machine.queue(id, queued=job.state is QUEUED)
        return other

    # Starts

    def _run(self, job: PlainJob, now: int) -> Allocation:
        job.kept.pop(GUARANTEED, None)
        molded = self._molded[job.asked.id]
        if molded.guaranteed:
            molded.guaranteed = 0
            self._machine.change(molded)
        self._shrunk += job.size < job.asked.nodes
        self._expanded += job.size > job.asked.nodes
        return super()._run(job, now)

    def duration(self, job: PlainJob) -> int:
        return run_time(self._molded[job.asked.id], job.size)

    def allocation(self, job: PlainJob) -> Allocation:
        return Allocation(job.size, rate=Fraction(job.asked.requested, self.duration(job)))

    def counts(self) -> Mapping[str, Any]:
        return {"shrunk": self._shrunk, "expanded": self._expanded}

    def kept_of_domain(self) -> Mapping[str, Any]:
        return self.counts() if self._past is None else {**self.counts(), PAST: self._past.kept}

    def recall(self, kept: Mapping[str, Any]) -> None:
        self._shrunk, self._expanded = kept["shrunk"], kept["expanded"]
        if self._past is not None:
            self._past.kept = kept.get(PAST, {})
