"""The jobs of a scheduler in plain Python, and the states in which they can be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob

QUEUED, READY, HOLDING, RUNNING = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING


@dataclass(slots=True)
class PlainJob:
    """A job, and what has become of it; instants in s, as in ClusterJob."""

    asked: ClusterJob
    state: JobState  # changed by `_become` alone
    size: int  # the nodes on which it starts
    number: int = 0  # in which order jobs were submitted
    nodes: int = 0  # that it has
    passed_over: int = 0
    released: int = -1
    wanted_until: int = 0
    expected: int = FOREVER
    kept: dict[str, Any] = field(default_factory=dict)  # what others keep of it: plain values

    @property
    def lacks(self) -> int:
        """The nodes that others are to give when it starts."""
        return self.size - self.nodes

    def read(self) -> ClusterJob:
        """Return all that is known of it."""
        mine = {"size": self.size} if self.state in WITH_NODES and self.size != self.asked.nodes else {}
        lacking = {"lacks": self.lacks} if self.state is READY and self.lacks else {}
        return replace(
            self.asked,
            state=self.state,
            expected=self.expected,
            passed_over=self.passed_over,
            released=self.released,
            wanted_until=self.wanted_until,
            kept=self.kept | mine | lacking,
        )


class PlainJobs:
    """The jobs of a scheduler, in the order of their submission, and the nodes that they have."""

    def __init__(self, nodes: int) -> None:
        self.free = nodes  # those that nobody has
        self.known: dict[JobId, PlainJob] = {}
        self.busy: dict[JobId, PlainJob] = {}  # those of them that are not queued, in any order
        self._submitted = 0

    def copy(self) -> PlainJobs:
        """Return the same once more."""
        other = PlainJobs(self.free)
        other.known.update((id, replace(job, kept=dict(job.kept))) for id, job in self.known.items())
        other.busy.update((id, other.known[id]) for id in self.busy)
        other._submitted = self._submitted
        return other

    def add(self, job: ClusterJob) -> PlainJob:
        """Note that a job is submitted; after a restart it has its nodes."""
        kept = dict(job.kept)
        size, lacks = kept.pop("size", job.nodes), kept.pop("lacks", 0)
        self._submitted += 1
        of_job = job.passed_over, job.released, job.wanted_until, job.expected, kept
        known = self.known[job.id] = PlainJob(job, job.state, size, self._submitted, 0, *of_job)
        if job.state in WITH_NODES:
            self.give(known, size - lacks)
        return known

    def give(self, job: PlainJob, nodes: int) -> None:
        """Note that the job has so many nodes from now on."""
        self.free -= nodes - job.nodes
        job.nodes = nodes

    def become(self, job: PlainJob, state: JobState) -> None:
        """Note that the job is in this state from now on."""
        job.state = state
        if state in WITH_NODES:
            self.busy[job.asked.id] = job
        else:
            self.busy.pop(job.asked.id, None)

    @property
    def promised(self) -> int:
        """The nodes that others must give to jobs that are ready already."""
        return sum(job.lacks for job in self.busy.values() if job.state is READY)

    def count_as_of(self, since: int, now: int) -> None:
        """Let yields and releases from the instant `since` on count as of `now`."""
        for job in self.known.values():
            job.passed_over = now + 1 if job.passed_over > since else job.passed_over
            job.released = now if job.released >= since else job.released

    def passes_over(self, now: int) -> bool:
        """Return whether some queued job has yielded at this instant."""
        return any(job.state is QUEUED and job.passed_over == now + 1 for job in self.known.values())

    def with_nodes(self) -> list[JobId]:
        """Return the jobs that have nodes, in the order in which they were submitted."""
        return sorted(self.busy, key=lambda id: self.busy[id].number)

    def used(self) -> dict[JobState, int]:
        """Return the nodes of ready, holding and running jobs."""
        return {state: sum(job.nodes for job in self.busy.values() if job.state is state) for state in WITH_NODES}
