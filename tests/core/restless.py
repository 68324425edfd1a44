"""A scheduler that resizes, preempts and restarts running jobs as chance will have it; jobs run on any size.

Twice the nodes are twice the speed, up to the size that a job asks for. What each job had is noted in `told`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from random import Random
from typing import NamedTuple

from cosched.core.allocation import NOT_NOW, Allocation, Refused, SizeChanged
from cosched.core.events import Ready, Requeued
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.scheduling.base import SchedulerBase
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob
from cosched.core.scheduling.starts import RecentStarts
from cosched.core.story import Why

QUEUED, READY, HOLDING, RUNNING = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING


class Stop(NamedTuple):
    """A job was preempted at the instant `start`."""

    start: int
    keeps_work: bool


@dataclass
class RestlessJob:
    """What the scheduler knows of a job."""

    asked: ClusterJob
    state: JobState = QUEUED
    nodes: int = 0  # that it has
    resumes: int = 0  # what resizes cost is paid then
    passed_over: int = -1
    released: int = -1
    wanted_until: int = -1


class Restless(SchedulerBase):
    """`acts`: how often it changes something about a running job of its own accord."""

    capabilities = Capabilities(groups=False, preempt=True)
    counts_work = False

    def __init__(self, nodes: int, random: Random, acts: int) -> None:
        self.nodes = self.free = nodes
        self.starts = RecentStarts()
        self.jobs: dict[str, RestlessJob] = {}
        self.told: dict[str, list[Allocation | Stop]] = defaultdict(list)
        self.done: Counter[str] = Counter()  # what it did to running jobs
        self.busy_seconds = 0  # node-seconds of running jobs
        self._random = random
        self._acts = acts
        self._acts_at = 0
        self._events: list[SizeChanged | Requeued] = []
        self._now = 0

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        self.jobs[job.id] = RestlessJob(job)

    def leave(self, job: str, now: int, how: JobState) -> None:  # noqa: ARG002
        self._take_nodes(self.jobs.pop(job))

    def job(self, job: str) -> ClusterJob:
        return self.jobs[job].asked

    def __contains__(self, job: str) -> bool:
        return job in self.jobs

    def fits(self, nodes: int) -> bool:
        return nodes <= self.nodes

    def rounded(self, nodes: int) -> int:
        return nodes

    # What is ready

    def next(self, now: int) -> Ready | None:
        """After a release wanted jobs come first and the released ones last (coscheduling.md)."""
        while self._acts and now >= self._acts_at and self._running():
            self._act(now)
        order = list(self.jobs.values())
        if any(job.released == now for job in order):
            order.sort(key=lambda job: 0 if now < job.wanted_until else 2 if job.released == now else 1)
        for job in order:
            if job.state is QUEUED and job.passed_over != now and (size := self._some_size(job)):
                self._give_nodes(job, READY, size)
                return Ready(job.asked.id, Allocation(size), FOREVER)
        return None

    def _some_size(self, job: RestlessJob) -> int:
        """On how many nodes the job is to start; 0: not now."""
        least, most = self._random.choice((1, job.asked.nodes, job.asked.nodes)), min(self.free, job.asked.nodes)
        return self._random.randint(least, most) if least <= most else 0

    @property
    def awaited(self) -> None:
        return None

    def start(self, job: str, now: int) -> Allocation:
        started = self.jobs[job]
        if started.state is QUEUED:  # it has run unseen
            self._give_nodes(started, RUNNING, started.asked.nodes)
        started.state = RUNNING
        return self._allocation(started, now)

    def hold(self, job: str, now: int, until: int) -> None:  # noqa: ARG002
        self.jobs[job].state = HOLDING

    def ask_again(self, job: str) -> None:
        self.jobs[job].state = READY

    def pass_over(self, job: str, now: int, boost: float) -> None:  # noqa: ARG002
        self.jobs[job].passed_over = now
        self._take_nodes(self.jobs[job])

    def release(self, job: str, now: int) -> None:
        self.jobs[job].released = now
        self._take_nodes(self.jobs[job])

    def try_start(self, job: str, now: int, wanted_until: int, start_at: float | None = None) -> Allocation | Refused:  # noqa: ARG002
        """Sometimes other jobs lose nodes for it."""
        tried = self.jobs[job]
        size = self._some_size(tried) or self._make_room(tried.asked.nodes, now)
        if not size:
            tried.wanted_until = wanted_until
            return NOT_NOW
        self._give_nodes(tried, READY, size)
        return self.start(job, now)

    def reschedule(self, job: str | None = None) -> None:
        """It looks at all jobs whenever it is asked for the next."""

    def count_paired(self, job: str, paired: bool) -> None:
        """All are."""

    # What it does to running jobs

    def take_orders(self) -> tuple[()]:
        return ()

    def take_changed(self) -> tuple[()]:
        return ()

    def take_events(self) -> list[SizeChanged | Requeued]:
        events, self._events = self._events, []
        return events

    def _allocation(self, job: RestlessJob, now: int) -> Allocation:
        told = self.told[job.asked.id]
        rate, left = Fraction(job.nodes, job.asked.nodes), job.asked.requested - work_done(told, now)
        expected = max(now, job.resumes) - (-left // rate)  # rounded up
        told.append(Allocation(job.nodes, now, expected, rate, job.resumes))
        return told[-1]

    def _act(self, now: int) -> None:
        self._acts -= 1
        self._acts_at = now + self._random.randint(0, 6)
        self._change(self._random.choice(self._running()), now, more=self.free)

    def _make_room(self, nodes: int, now: int) -> int:
        if self._random.random() < 0.5 or self.free + self.used()[RUNNING] < nodes:
            return 0
        while self.free < nodes:
            self._change(self._random.choice(self._running()), now, more=-1)
        self.done["made room"] += 1
        return nodes

    def _change(self, job: RestlessJob, now: int, more: int) -> None:
        """Preempt a job, or give it another size: at most `more` nodes more than it has."""
        most = min(job.asked.nodes, job.nodes + more)
        if most < 1 or self._random.random() < 0.4:
            self._preempt(job, now)
        else:
            self._resize(job, now, self._random.randint(1, most))

    def _preempt(self, job: RestlessJob, now: int) -> None:
        event = Requeued(job.asked.id, keeps_work=self._random.random() < 0.7, why=Why.PREEMPTED)
        self._events.append(event)
        self.told[event.job].append(Stop(now, event.keeps_work))
        self.done["preempted"] += 1
        self._take_nodes(job)

    def _resize(self, job: RestlessJob, now: int, size: int) -> None:
        self.free += job.nodes - size
        job.nodes = size
        job.resumes = max(job.resumes, now) + self._random.choice((0, 0, 1, 7))
        self._events.append(SizeChanged(job.asked.id, self._allocation(job, now)))
        self.done["resized"] += 1

    def _running(self) -> list[RestlessJob]:
        return [job for job in self.jobs.values() if job.state is RUNNING]

    # Nodes and time

    def _give_nodes(self, job: RestlessJob, state: JobState, size: int) -> None:
        job.state, job.nodes, job.resumes = state, size, 0
        self.free -= size

    def _take_nodes(self, job: RestlessJob) -> None:
        self.free += job.nodes
        job.state, job.nodes = QUEUED, 0

    def used(self) -> dict[JobState, int]:
        jobs = self.jobs.values()
        return {state: sum(job.nodes for job in jobs if job.state is state) for state in WITH_NODES}

    def enter(self, now: int) -> None:
        self.busy_seconds += (now - self._now) * self.used()[RUNNING]
        self._now = now

    def next_event(self, now: int) -> int | None:
        return max(self._acts_at, now + 1) if self._acts and self._running() else None


def work_done(told: Sequence[Allocation | Stop], at: int) -> Fraction:
    """The seconds of its run time that a job has done by `at`, without what it has lost."""
    done = Fraction(0)
    for had, after in zip_longest(told, told[1:]):
        if isinstance(had, Stop):
            done *= had.keeps_work
        else:
            end = min(at, after.start) if after is not None else at
            done += had.rate * max(0, end - max(had.start, had.resumes))
    return done
