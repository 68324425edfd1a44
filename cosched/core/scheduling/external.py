"""A batch system that schedules by itself: its queue and its nodes, as far as they are known here.

It offers jobs (`offer`), and tells later what came of a try; what it is to be told is kept as orders until the turn of
the domain is on record.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from cosched.core.allocation import NOT_NOW, Allocation, Refused
from cosched.core.effects import PassOver, Release, Reschedule, Try, TryReady, Yield
from cosched.core.events import MayBeEarlier, Ready
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.base import SchedulerBase
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.external_meeting import ExternalMeeting, ExternalSettings
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob, Order
from cosched.core.scheduling.starts import RecentStarts


class ExternalScheduler(SchedulerBase):
    """The jobs that name a mate. Jobs without a mate are unknown here. It holds what it needs for pairs that meet."""

    keeps = frozenset({"slot", "pushed"})
    meeting: ExternalMeeting

    def __init__(self, settings: ExternalSettings) -> None:
        self.settings = settings
        self.nodes = settings.nodes
        self.capabilities = Capabilities(all_jobs=False, groups=settings.groups, slots=settings.meets)
        self.starts = RecentStarts(settings.mate_budget_share)
        self.meeting = ExternalMeeting(self)
        self.trying: dict[JobId, Try | TryReady] = {}  # what came of these is told later
        self._favoured: Counter[JobId] = Counter()
        self.jobs: dict[JobId, ClusterJob] = {}
        self._offers: deque[Ready] = deque()
        self._numbers: dict[JobId, int] = {}  # of their latest offers
        self.orders: list[Order] = []

    def take_orders(self) -> list[Order]:
        orders, self.orders = self.orders, []
        return orders

    def take_changed(self) -> tuple[()]:
        """Return none: all is told."""
        return ()

    @property
    def awaited(self) -> JobId | None:
        """No iteration of ours waits for answers."""
        return None

    # What it offers

    def note_offer(self, job: JobId, number: int) -> None:
        """Note that the batch system offers a job, by this number. Orders that end the offer name the number.

        Such an order leaves later, and by then the job may have another offer.
        """
        if job in self.jobs:
            self._numbers[job] = number

    def offer(self, job: JobId, nodes: int, now: int, *, can_yield: bool) -> bool:
        """Note that the batch system has chosen a queued job and its nodes: it is the next, unless others come first.

        At its slot a job waits until that is claimed.
        """
        if self.meeting.keep_aside(job, nodes, now, can_yield=can_yield):
            return False
        if can_yield and self._others_first(job, now):
            self.orders.append(PassOver(job, self._numbers.get(job, 0)))
            return False
        self.jobs[job] = replace(self.jobs[job], state=JobState.READY, nodes=nodes)
        self._offers.append(Ready(job, Allocation(nodes), FOREVER, cannot_yield=not can_yield))
        return True

    def _others_first(self, job: JobId, now: int) -> bool:
        """Whether other paired jobs come first: those that peers try to start, and after a release the wanted ones.

        "Every other paired job that could start [is] passed over as if it had yielded" (TryStartMate in the protocol).
        """
        others = self.trying.keys() | self._favoured.keys()
        return bool(others) and job not in others and job not in self.wanted(now)

    @contextmanager
    def favouring(self, jobs: Collection[JobId]) -> Iterator[None]:
        """Let these jobs come before other paired ones in this block."""
        self._favoured.update(jobs)
        try:
            yield
        finally:
            self._favoured -= Counter(jobs)

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        """Note that the batch system has this job. A try that is under way was of an earlier job with this id."""
        self.trying.pop(job.id, None)
        self.jobs[job.id] = job
        self.meeting.submit(job.id)

    def job(self, job: JobId) -> ClusterJob:
        return self.jobs[job]

    def __contains__(self, job: JobId) -> bool:
        return job in self.jobs

    def leave(self, job: JobId, now: int, how: JobState) -> None:  # noqa: ARG002
        del self.jobs[job]
        self.meeting.leave(job)
        self._numbers.pop(job, None)

    def fits(self, nodes: int) -> bool:  # noqa: ARG002
        """Return true: the batch system judges that."""
        return True

    def rounded(self, nodes: int) -> int:
        return nodes

    # What becomes of them

    def start(self, job: JobId, now: int) -> Allocation:
        self.put(job, JobState.RUNNING)
        self.meeting.start(job, now)
        return self.has_from(job, now)

    def has(self, job: JobId) -> Allocation:
        """Return what the batch system offers."""
        return Allocation(self.jobs[job].nodes)

    def has_from(self, job: JobId, start: int) -> Allocation:
        """Return what a job has by the batch system's offer if it starts then."""
        known = self.jobs[job]
        return Allocation(known.nodes, start, start + known.requested if known.requested else FOREVER)

    def hold(self, job: JobId, now: int, until: int) -> None:  # noqa: ARG002
        self.put(job, JobState.HOLDING)

    def ask_again(self, job: JobId) -> None:
        self.put(job, JobState.READY)

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        self.jobs[job] = replace(self.jobs[job], state=JobState.QUEUED, passed_over=now + 1)
        self.orders.append(Yield(job, boost, self._numbers.get(job, 0)))
        self.meeting.pass_over(job)

    def release(self, job: JobId, now: int) -> None:  # noqa: ARG002
        self.put(job, JobState.QUEUED)
        self.orders.append(Release(job, self._numbers.get(job, 0)))

    def resize(self, job: JobId, nodes: int) -> None:
        """Note that the batch system has chosen another size for a job."""
        self.jobs[job] = replace(self.jobs[job], nodes=nodes)

    def requeue(self, job: JobId) -> None:
        """Note that the batch system has taken the job's nodes."""
        self.put(job, JobState.QUEUED)
        self.meeting.aside.pop(job, None)

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> None:  # noqa: ARG002
        """Ask the batch system to offer the queued job; what comes of it is told later."""
        self.jobs[job] = replace(self.jobs[job], wanted_until=wanted_until)
        self.trying[job] = tried = Try(job, wanted_until, start_at)
        self.orders.append(tried)

    def try_ready(self, job: JobId, now: int) -> Refused | None:  # noqa: ARG002
        """See GroupScheduler: the batch system is asked to offer the job; what comes of it is told later."""
        if job not in self.jobs:
            return NOT_NOW
        self.trying[job] = tried = TryReady(job)
        self.orders.append(tried)
        return None

    def keep(self, job: JobId) -> None:
        """Note that the batch system offers a job that `try_ready` has asked for: it keeps its nodes."""
        self.put(job, JobState.READY)
        self.meeting.aside.pop(job, None)

    def withdraw(self, job: JobId) -> None:
        """Note that the batch system has taken the offer of a job back. It may be one that was kept aside."""
        self.meeting.aside.pop(job, None)

    def give_back(self, job: JobId, now: int) -> None:  # noqa: ARG002
        """See GroupScheduler. It is the job's own turn now, on the nodes that it is offered.

        A job that has yielded before gives them back. Else two members that yield could keep theirs in turn, for ever.
        """
        known = self.jobs[job]
        if known.passed_over:
            self.put(job, JobState.QUEUED)
            self.orders.append(Yield(job, 1.0, self._numbers.get(job, 0)))
        else:
            self.jobs[job] = replace(known, state=JobState.READY)
            self._offers.append(Ready(job, self.has(job), FOREVER))

    def want_until(self, job: JobId, until: int) -> None:
        if job in self.jobs:
            self.jobs[job] = replace(self.jobs[job], wanted_until=until)

    def wanted(self, now: int) -> list[JobId]:
        """Return the queued jobs whose mates hold nodes for them."""
        jobs = self.jobs.values()
        return [job.id for job in jobs if job.state is JobState.QUEUED and job.wanted_until > now]

    # Iterations are the batch system's

    def enter(self, now: int) -> None:
        """Note that it is `now`."""

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        return self._offers.popleft() if self._offers else self.meeting.next_turn(now)

    def next_event(self, now: int) -> int | None:  # noqa: ARG002
        return None

    def reschedule(self, job: JobId | None = None) -> None:
        """End the time for which the batch system keeps back a job that has yielded."""
        known = self.jobs.get(job) if job is not None else None
        if known is not None and known.state is JobState.QUEUED and known.passed_over:
            self.orders.append(Reschedule(known.id))

    def count_paired(self, job: JobId, paired: bool) -> None:
        """Do nothing: nobody foresees anything."""

    def pushed(self, job: JobId) -> int | None:
        return self.jobs[job].kept.get("pushed") if job in self.jobs else None

    # Numbers

    def used(self) -> dict[JobState, int]:
        jobs = self.jobs.values()
        return {state: sum(job.nodes for job in jobs if job.state is state) for state in WITH_NODES}

    @property
    def free(self) -> int:
        """Nodes that no job with a mate has."""
        return max(0, self.nodes - sum(self.used().values()))

    def keep_own(self, job: JobId, name: str, value: int | None) -> None:
        """Keep something more of a job; None: nothing."""
        known = self.jobs[job]
        others = {other: kept for other, kept in known.kept.items() if other != name}
        self.jobs[job] = replace(known, kept=others if value is None else others | {name: value})

    def put(self, job: JobId, state: JobState) -> None:
        """Let a job be in this state."""
        self.jobs[job] = replace(self.jobs[job], state=state)
