"""The scheduler of a domain whose jobs are molded, and come and go, with mates (molding.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

from cosched.core.allocation import Allocation
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.molding.future import DAY
from cosched.core.scheduling.molding.iteration import By, Choice, Choices, after, choice_of, turns
from cosched.core.scheduling.molding.jobs import Moldable, Molded, check_sizes
from cosched.core.scheduling.molding.machine import Machine, Running
from cosched.core.scheduling.molding.past import Past
from cosched.core.scheduling.molding.selecting import earliest_size
from cosched.core.scheduling.molding.settings import MoldingSettings, Sizing
from cosched.core.scheduling.molding.sizing import Scojo, ScojoP, Traditional
from cosched.core.scheduling.plain import QUEUED, READY, PlainJob, PlainScheduler
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob

CHOSEN, GUARANTEED = "chosen", "guaranteed"  # what is kept of a job: the size that it has chosen, its least size,
BY, MODIFIER = "by", "modifier"  # how the size came about that it has,
COUNTED, PAST = "counted", "past"  # and whether it is in the domain's past; what is kept of that

RULES: Mapping[Sizing, Callable[[MoldingSettings], Traditional]] = {
    Sizing.SCOJO_P: ScojoP,
    Sizing.SCOJO: lambda _: Scojo(),
    Sizing.CIRNE_BERMAN: lambda _: Traditional(),
    Sizing.NONE: lambda _: Traditional(),
}


class Molding(PlainScheduler):
    """The queue, the nodes, and the sizes of jobs."""

    capabilities = Capabilities(molds=True, estimates=True)
    keeps = PlainScheduler.keeps | {CHOSEN, GUARANTEED, BY, MODIFIER, COUNTED}

    def __init__(self, settings: MoldingSettings) -> None:
        super().__init__(settings.nodes)
        self._sizing, self._sizes = settings.sizing, settings.sizes
        self._settings, self._rule = settings, RULES[settings.sizing](settings)
        self._past = Past() if settings.learns else None
        self._learned = 0  # on this day
        self._molded: dict[JobId, Molded] = {}
        self._machine = self._at(0, [])  # of the open iteration, and what it goes through
        self._turns: Choices = turns(self._machine, self._rule)
        self._last: PlainJob | None = None  # that had its turn
        self._limit = FOREVER  # see Ready
        self._shrunk = self._expanded = 0  # jobs that have started on fewer nodes than N_opt; on more

    # Jobs in and out

    def check(self, job: ClusterJob) -> None:
        """See OpenScheduler."""
        check_sizes(job, self.nodes, self._sizes)

    def submit(self, job: ClusterJob) -> None:
        """See OpenScheduler; ValueError if the job cannot run here."""
        molded = Molded.of(job, self.nodes, self._sizes)
        super().submit(job)
        self._molded[job.id] = molded
        kept = self.jobs[job.id].kept
        molded.guaranteed = kept.get(GUARANTEED, 0)
        if self._past is not None and COUNTED not in kept:
            self._past.add(molded, moldable=isinstance(job.columns, Moldable))
            kept[COUNTED] = True
            self._have_changed[job.id] = None
        if self._sizing is Sizing.NONE:
            molded.keep_to(job.nodes)
        elif self._sizing is Sizing.CIRNE_BERMAN:
            if job.state is QUEUED and CHOSEN not in kept:
                kept[CHOSEN] = earliest_size(self._at(max(self._now, job.submitted), []), molded)
                self._have_changed[job.id] = None
            molded.keep_to(kept.get(CHOSEN, job.nodes))

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        """See OpenScheduler."""
        super().leave(job, now, how)
        del self._molded[job]

    def least(self, job: JobId) -> int:
        """Return the fewest nodes that the job can be given now."""
        return self._molded[job].smallest

    def _learn(self, now: int) -> None:
        """Each day it is learned anew what to expect."""
        if self._past is not None and self._learned != now // DAY:
            self._learned = now // DAY
            self._rule = RULES[self._sizing](replace(self._settings, future=self._past.future(now)))

    # Iterations

    def _order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        """Short jobs come first, then medium ones, then long ones; who has waited long moves up."""
        return sorted(queued, key=lambda job: (self._molded[job.asked.id].level(self._now), job.asked.submitted))

    def _at(self, now: int, order: Iterable[PlainJob]) -> Machine:
        """The machine, where these jobs have their turns."""
        running = [self._running(job, now) for job in self.jobs.values() if job.state in WITH_NODES]
        queued = [self._molded[id] for id, job in self.jobs.items() if job.state is QUEUED]
        return Machine(self.nodes, now, self.free, running, queued, [self._molded[job.asked.id] for job in order])

    def _running(self, job: PlainJob, now: int) -> Running:
        """A ready job is about to start."""
        end = now + self._duration(job) if job.state is READY else job.expected
        return Running(end, job.nodes, job.asked.nodes)

    def _begin(self, now: int) -> None:
        super()._begin(now)
        self._learn(now)
        self._machine = self._at(now, [job for job in self._in_order(now) if job.passed_over != now + 1])
        self._turns, self._last = turns(self._machine, self._rule), None

    def _choose(self, now: int) -> PlainJob | None:  # noqa: ARG002
        """See PlainScheduler."""
        last = self._last
        until = None if last is None or last.state is QUEUED else last.expected
        turn = after(self._turns, until)
        for job in self._machine.guarantees:
            self.jobs[job.id].kept[GUARANTEED] = job.guaranteed
            self._have_changed[job.id] = None
        self._machine.guarantees.clear()
        if turn is None:
            return None
        self._last, self._limit = self.jobs[turn.job.id], turn.hold_limit
        self._size(self._last, turn)
        return self._last

    def _size(self, job: PlainJob, turn: Choice) -> None:
        """The job starts on this size."""
        job.size = turn.nodes
        if isinstance(job.asked.columns, Moldable) and self._sizing is not Sizing.NONE:
            job.kept |= {BY: By.CHOSEN if CHOSEN in job.kept else turn.by, MODIFIER: turn.modifier}

    def _queue(self, job: PlainJob) -> None:
        super()._queue(job)
        for name in (BY, MODIFIER):
            job.kept.pop(name, None)

    def _hold_limit(self, job: PlainJob) -> int:  # noqa: ARG002
        return self._limit

    def _would_start(self, job: JobId, now: int) -> bool:
        """See PlainScheduler: an iteration on a copy, of which nothing is left but the job's size."""
        if job not in self.jobs or self.jobs[job].state is not QUEUED:
            return False
        self._learn(now)
        order = self._in_order(now)
        machine = self._at(now, [other for other in order if self._has_turn(other, job, now)])
        copies = {id(molded): copy(molded) for molded in machine.queued}
        machine.queued = [copies[id(molded)] for molded in machine.queued]
        machine.turns = [copies[id(molded)] for molded in machine.turns]
        turn = choice_of(machine, self._rule, job)
        if turn is not None:
            self._size(self.jobs[job], turn)
        return turn is not None

    @staticmethod
    def _has_turn(job: PlainJob, tried: JobId, now: int) -> bool:
        """Whether a job has its turn in a dry run for another one."""
        return job.asked.id == tried or not (job.asked.paired or job.passed_over == now + 1)

    def copy(self) -> Self:
        """See Playable."""
        other = super().copy()
        other._molded = {id: copy(job) for id, job in self._molded.items()}
        return other

    # Starts

    def _run(self, job: PlainJob, now: int) -> Allocation:
        job.kept.pop(GUARANTEED, None)
        self._molded[job.asked.id].guaranteed = 0
        self._shrunk += job.size < job.asked.nodes
        self._expanded += job.size > job.asked.nodes
        return super()._run(job, now)

    def _duration(self, job: PlainJob) -> int:
        return self._molded[job.asked.id].time(job.size)

    def _allocation(self, job: PlainJob) -> Allocation:
        return Allocation(job.size, rate=Fraction(job.asked.requested, self._duration(job)))

    def counts(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return {"shrunk": self._shrunk, "expanded": self._expanded}

    def kept_of_domain(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return self.counts() if self._past is None else {**self.counts(), PAST: self._past.kept}

    def recall(self, kept: Mapping[str, Any]) -> None:
        """See OpenScheduler."""
        self._shrunk, self._expanded = kept["shrunk"], kept["expanded"]
        if self._past is not None:
            self._past.kept = kept.get(PAST, {})
