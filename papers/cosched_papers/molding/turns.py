"""Which sizes the jobs of a molding machine can have, and who is next: a part that its scheduler holds (molding.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from cosched.core.protocol import JobId
from cosched.core.scheduling.plain_job import QUEUED, READY, PlainJob
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.turns import Queue, Turns
from cosched_papers.molding.curves import MILLIONTHS, Downey
from cosched_papers.molding.future import Expected, Future
from cosched_papers.molding.jobs import BY, MODIFIER, By, Moldable, Molded
from cosched_papers.molding.kernels.times import DAY, HALF_HOUR, HALF_HOURS, MEDIUM, SHORT
from cosched_papers.molding.machine import Chosen, Machine, Running
from cosched_papers.molding.settings import MoldingSettings, Sizing

DAYS = 28
SINCE, JOBS, CURVES = "since", "jobs", "curves"
CHOSEN, GUARANTEED = "chosen", "guaranteed"  # what is kept of a job: the size that it has chosen, its least size,
COUNTED = "counted"  # and whether it is in the domain's past


class MoldingTurns(Turns):
    """The order of jobs, and the sizes on which they start."""

    def __init__(self, scheduler: Queue, settings: MoldingSettings) -> None:
        super().__init__(scheduler)
        self._settings = settings
        self.past = Past() if settings.learns else None
        self._learned = 0  # on this day
        self.molded: dict[JobId, Molded] = {}
        self._machine = Machine(settings)
        self._last: PlainJob | None = None  # that had its turn

    def copy(self, scheduler: Queue) -> Self:
        other = super().copy(scheduler)
        other.past = copy(self.past)
        other.molded = {id: copy(job) for id, job in self.molded.items()}
        other._machine = Machine(self._settings, list(other.molded.values()))
        for id, job in scheduler.jobs.items():
            other._machine.queue(id, queued=job.state is QUEUED)
        return other

    # Jobs in and out

    def admit(self, job: ClusterJob) -> None:
        molded = self.molded[job.id] = Molded.of(job, self._scheduler.nodes, self._settings.sizes)
        self._machine.add(molded)

    def submit(self, known: PlainJob) -> None:
        """See Turns: keep to what is kept of the job, or choose its size."""
        job, kept, molded = known.asked, known.kept, self.molded[known.asked.id]
        molded.guaranteed = kept.get(GUARANTEED, 0)
        if self.past is not None and COUNTED not in kept:
            self.past.add(molded, moldable=isinstance(job.columns, Moldable))
            self._keep(known, COUNTED, True)
        if self._settings.sizing is Sizing.NONE:
            molded.keep_to(job.nodes)
        elif self._settings.sizing is Sizing.CIRNE_BERMAN:
            if job.state is QUEUED and CHOSEN not in kept:
                now = max(self._scheduler.now, job.submitted)
                self._machine.begin(now, self._scheduler.free, self._running(now))
                self._keep(known, CHOSEN, self._machine.earliest_size(job.id))
            molded.keep_to(kept.get(CHOSEN, job.nodes))
        self._machine.change(molded)

    def _keep(self, job: PlainJob, name: str, value: int) -> None:
        job.kept[name] = value
        self._scheduler.iteration.note(job.asked.id)

    def become(self, job: PlainJob) -> None:
        super().become(job)
        if job.asked.id in self.molded:
            self._machine.queue(job.asked.id, queued=job.state is QUEUED)

    def queue(self, job: PlainJob) -> None:
        for name in (BY, MODIFIER):
            job.kept.pop(name, None)

    def start(self, job: PlainJob) -> None:
        """See Turns: if a size was guaranteed to the job, it is used."""
        job.kept.pop(GUARANTEED, None)
        molded = self.molded[job.asked.id]
        if molded.guaranteed:
            molded.guaranteed = 0
            self._machine.change(molded)

    def leave(self, job: PlainJob, now: int) -> None:  # noqa: ARG002
        self._machine.remove(job.asked.id)
        del self.molded[job.asked.id]

    # Turns

    def order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:  # noqa: ARG002
        """Short jobs come first, then medium ones, then long ones; who has waited long moves up."""
        return [self._scheduler.jobs[job] for job in self._machine.sorted(self._scheduler.now)]

    def begin(self, now: int) -> None:
        self._learn(now)
        turns = (job.asked.id for job in self.in_order(now) if job.passed_over != now + 1)
        self._machine.begin(now, self._scheduler.free, self._running(now), turns)
        self._last = None

    def next_job(self, now: int) -> PlainJob | None:  # noqa: ARG002
        machine, last = self._machine, self._last
        if last is not None and last.state is not QUEUED:
            machine.take(last.asked.id, last.size, last.expected)
        turn = machine.choose()
        guarantee = machine.take_guarantee()
        if guarantee is not None:
            job, nodes = guarantee
            job.guaranteed = nodes
            self._keep(self._scheduler.jobs[job.id], GUARANTEED, nodes)
        if turn is None:
            return None
        self._last = self._scheduler.jobs[turn]
        self._size(self._last, machine.chosen)
        return self._last

    def would_start(self, job: JobId, now: int) -> bool:
        """See Turns: an iteration is played; only the job's size is left of it."""
        jobs = self._scheduler.jobs
        if job not in jobs or jobs[job].state is not QUEUED:
            return False
        self._learn(now)
        turns = (other.asked.id for other in self.in_order(now) if _has_turn(other, job, now))
        chosen = self._machine.tries(job, now, self._scheduler.free, self._running(now), turns)
        if chosen is not None:
            self._size(jobs[job], chosen)
        return chosen is not None

    def hold_limit(self, job: PlainJob) -> int:  # noqa: ARG002
        return self._machine.hold_limit

    def _learn(self, now: int) -> None:
        """Learn each day anew what to expect."""
        if self.past is not None and self._learned != now // DAY:
            self._learned = now // DAY
            self._settings = replace(self._settings, future=self.past.future(now))
            self._machine.foresee(self._settings)

    def _running(self, now: int) -> Iterator[Running]:
        """Return the jobs that have nodes; a ready one is about to start."""
        scheduler = self._scheduler
        for id, job in scheduler.busy.items():
            yield Running(id, job.nodes, now + scheduler.duration(job) if job.state is READY else job.expected)

    def _size(self, job: PlainJob, chosen: Chosen) -> None:
        job.size = chosen.size
        if isinstance(job.asked.columns, Moldable) and self._settings.sizing is not Sizing.NONE:
            job.kept |= {BY: By.CHOSEN if CHOSEN in job.kept else chosen.by, MODIFIER: chosen.modifier}


def _has_turn(job: PlainJob, tried: JobId, now: int) -> bool:
    """Return whether a job has its turn in a dry run for another one."""
    return job.asked.id == tried or not (job.asked.paired or job.passed_over == now + 1)


class Past:
    """The jobs of the last DAYS whole days, and of this one.

    `kept` are plain values, another mapping after each change: the day of the first job; by day and class the sums of
    N_opt, of run(N_opt) in s and of moldable jobs, then how many came in each half hour; by day how many jobs have a
    curve of Downey's, and the sums of A and sigma, in millionths.
    """

    def __init__(self) -> None:
        self.kept: Mapping[str, Any] = {}

    def add(self, job: Molded, *, moldable: bool) -> None:
        """Note that a job was submitted, for the first time."""
        day, at = divmod(job.submitted, DAY)
        of_class = (job.run >= SHORT) + (job.run >= MEDIUM)
        half_hours = [at // HALF_HOUR == half for half in range(HALF_HOURS)]
        curve = job.how.curve if job.how is not None else None
        self.kept = {
            SINCE: min(day, self.kept.get(SINCE, day)),
            JOBS: self._with(JOBS, f"{day} {of_class}", (job.ideal, job.run, moldable, *half_hours)),
            CURVES: self._with(CURVES, f"{day}", (1, *curve) if isinstance(curve, Downey) else (0, 0, 0)),
        }

    def _with(self, of: str, key: str, values: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """Return the sums with these values on this day, without those of days too long ago."""
        known, day = self.kept.get(of, {}), int(key.split()[0])
        recent = {key: sums for key, sums in known.items() if int(key.split()[0]) >= day - DAYS}
        sums = known.get(key, [0] * len(values))
        return {**recent, key: [total + value for total, value in zip(sums, values, strict=True)]}

    def future(self, now: int) -> Future | None:
        """Return the means over the whole days before this one; None: there is none since the first job."""
        today = now // DAY
        days = range(max(self.kept.get(SINCE, today) + 1, today - DAYS), today)
        if not days:
            return None
        curves, *sums = self._sums(CURVES, (f"{day}" for day in days), 3)
        curve = [total / (curves * MILLIONTHS) for total in sums if curves]
        return Future([self._expected(days, of_class, curve) for of_class in range(3)])

    def _expected(self, days: range, of_class: int, curve: Sequence[float]) -> Expected:
        sums = self._sums(JOBS, (f"{day} {of_class}" for day in days), 3 + HALF_HOURS)
        arrivals, count = tuple(came / len(days) for came in sums[3:]), sum(sums[3:])
        return Expected(arrivals, *(total / count if count else 1.0 for total in sums[:3]), *curve)

    def _sums(self, of: str, keys: Iterable[str], length: int) -> list[int]:
        known = self.kept.get(of, {})
        return [sum(column) for column in zip(*(known.get(key, [0] * length) for key in keys), strict=True)]
