"""The queue and the nodes of a domain whose resource manager schedules, as far as they are known here.

In the place of the embedded scheduler (`scheduling.batch.open_cluster`): the manager offers jobs, and what it is to be
told of them is kept as orders until the turn is on record.
"""

from __future__ import annotations

from dataclasses import replace

from cosched.core.effects import Release, Try, Yield
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob, ReadyJob
from cosched.service.domain.changes import Order


class OfferedJobs:
    """The jobs that name a mate, on a machine of `nodes` nodes. Jobs without a mate are unknown here."""

    awaited: JobId | None = None  # no iteration of ours waits for answers
    changed = False

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self._jobs: dict[JobId, ClusterJob] = {}
        self._orders: list[Order] = []

    def take_orders(self) -> list[Order]:
        """What the manager is to be told since the last time."""
        orders, self._orders = self._orders, []
        return orders

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        """The manager has this job."""
        self._jobs[job.id] = job

    def job(self, job: JobId) -> ClusterJob:
        """All that is known of a job."""
        return self._jobs[job]

    def __contains__(self, job: JobId) -> bool:
        return job in self._jobs

    def leave(self, job: JobId, now: int, how: JobState) -> None:  # noqa: ARG002
        """The job has ended."""
        del self._jobs[job]

    def fits(self, nodes: int) -> bool:  # noqa: ARG002
        """The manager judges that."""
        return True

    def rounded(self, nodes: int) -> int:
        """The nodes that a job of this size takes."""
        return nodes

    # What becomes of them

    def ready(self, job: JobId, nodes: int) -> None:
        """The manager has chosen the job and its nodes."""
        self._jobs[job] = replace(self._jobs[job], state=JobState.READY, nodes=nodes)

    def start(self, job: JobId, now: int) -> None:  # noqa: ARG002
        """The job has nodes and starts."""
        self._put(job, JobState.RUNNING)

    def hold(self, job: JobId, now: int, until: int) -> None:  # noqa: ARG002
        """The job keeps its nodes: the manager waits."""
        self._put(job, JobState.HOLDING)

    def ask_again(self, job: JobId) -> None:
        """A holding job is ready again, on its nodes."""
        self._put(job, JobState.READY)

    def pass_over(self, job: JobId, now: int, boost: float) -> None:  # noqa: ARG002
        """The job gives its nodes back."""
        self._put(job, JobState.QUEUED)
        self._orders.append(Yield(job, boost))

    def release(self, job: JobId, now: int) -> None:  # noqa: ARG002
        """End a hold by force."""
        self._put(job, JobState.QUEUED)
        self._orders.append(Release(job))

    def requeue(self, job: JobId) -> None:
        """The manager has taken the job's nodes."""
        self._put(job, JobState.QUEUED)

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> None:  # noqa: ARG002
        """The manager is asked to offer the queued job; what comes of it is told later."""
        self._jobs[job] = replace(self._jobs[job], wanted_until=wanted_until)
        self._orders.append(Try(job, wanted_until, start_at))

    def wanted(self, now: int) -> list[JobId]:
        """The queued jobs whose mates hold nodes for them."""
        jobs = self._jobs.values()
        return [job.id for job in jobs if job.state is JobState.QUEUED and job.wanted_until > now]

    # Iterations are the manager's

    def enter(self, now: int) -> None:
        """It is `now`."""

    def passes_over(self, now: int) -> bool:  # noqa: ARG002
        """Whether some queued job has yielded at this instant."""
        return False

    def next_ready(self, now: int) -> ReadyJob | None:  # noqa: ARG002
        """The manager offers jobs by itself."""
        return None

    def reschedule(self) -> None:
        """The manager does so by itself."""

    def count_alone(self, job: JobId, alone: bool) -> None:
        """The manager does not foresee anything."""

    # Numbers

    def used(self) -> dict[JobState, int]:
        """Nodes of ready, holding and running jobs."""
        jobs = self._jobs.values()
        return {state: sum(job.nodes for job in jobs if job.state is state) for state in WITH_NODES}

    @property
    def free(self) -> int:
        """Nodes that no job with a mate has."""
        return max(0, self.nodes - sum(self.used().values()))

    def _put(self, job: JobId, state: JobState) -> None:
        self._jobs[job] = replace(self._jobs[job], state=state)
