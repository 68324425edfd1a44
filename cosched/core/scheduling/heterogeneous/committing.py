"""Three queues of jobs, and the commitments that passes make of them (docs/heterogeneous.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from cosched.core.events import NodesLost
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.heterogeneous.algorithms import ALGORITHMS
from cosched.core.scheduling.heterogeneous.calls import Call, Placement
from cosched.core.scheduling.heterogeneous.greedy import pjs
from cosched.core.scheduling.heterogeneous.jobs import Classed, Priority
from cosched.core.scheduling.heterogeneous.plan import Commitment, Plan
from cosched.core.scheduling.heterogeneous.resources import Resources
from cosched.core.scheduling.heterogeneous.settings import CAPABILITIES, Algorithm, HeterogeneousSettings
from cosched.core.scheduling.heterogeneous.tables import site_tables
from cosched.core.scheduling.plain import HOLDING, QUEUED, READY, RUNNING, PlainJob, PlainScheduler
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob

# What is kept of a job: its resource, its expected time there, and its place among all commitments; the resource and
# the time to which it goes back if it does not start on the former; since when it is queued again; how often preempted;
# the machines on which its last run is still being ended.
RESOURCE, SECONDS, ORDER = "resource", "seconds", "order"
HOME, SINCE, PREEMPTED, LEAVING = "home", "since", "preempted", "leaving"
COUNTED = ("preempted", "displaced", "parallel")


class Committing(PlainScheduler):
    """Queues, commitments, and machines that are not alike; the rest of the scheduler starts what is committed."""

    capabilities = CAPABILITIES
    keeps = PlainScheduler.keeps | {RESOURCE, SECONDS, ORDER, HOME, SINCE, PREEMPTED, LEAVING}

    def __init__(self, settings: HeterogeneousSettings) -> None:
        super().__init__(settings.nodes)
        site = self._site = settings.site
        self.capabilities = replace(CAPABILITIES, preempt=site.preemptive, slots=settings.slots)
        self._resources = Resources(site, settings.times)
        self.run_times = self._resources.run_times
        self.site_tables = site_tables(settings)
        self._place: Callable[[Call], list[Placement]] = ALGORITHMS[settings.algorithm]
        if settings.algorithm is Algorithm.PJS:
            self._place = partial(pjs, goes_on=settings.goes_on)
        self._plan = Plan(self._resources.members, self._resources.machines)
        self._queue_of: dict[JobId, int] = {}  # jobs without a commitment, and since when
        self._arrivals: dict[JobId, int] = {}  # in which order jobs were submitted
        self._homes: dict[JobId, tuple[int, int] | None] = {}  # see HOME; None: to its queue
        self._set_back: set[JobId] = set()  # jobs that have yielded or were released, and were not planned again since
        self._lags = False  # a run that is stopped needs time to end
        self._leaving: dict[JobId, set[int]] = {}  # the machines of such runs
        self._touched: set[int] = set()  # machines on which another job may be the first now
        self._after_release = False  # at this instant
        self._arrived = self._ordered = 0
        self._counts = dict.fromkeys(COUNTED, 0)

    # Jobs in and out

    def check(self, job: ClusterJob) -> None:
        """See OpenScheduler."""
        if not isinstance(job.columns, Classed) or not job.columns.job_class:
            raise ValueError("job_class: missing, by which it is known how long the job runs where")
        self._resources.check(job.columns.job_class, job.columns.priority, job.owner)
        if job.state is not QUEUED and job.kept.get(RESOURCE) not in {None, *self._resources.names}:
            raise ValueError(f"the site has no {job.kept[RESOURCE]}, where it is")

    def submit(self, job: ClusterJob) -> None:
        """See OpenScheduler; ValueError if the job cannot run here."""
        self.check(job)
        super().submit(job)
        self._arrived += 1
        self._arrivals[job.id] = self._arrived
        known = self.jobs[job.id]
        kept = known.kept
        name, seconds, order = kept.pop(RESOURCE, None), kept.pop(SECONDS, 0), kept.pop(ORDER, 0)
        home, since = kept.pop(HOME, None), kept.pop(SINCE, job.submitted)
        if leaving := {self._resources.index[name] for name in kept.pop(LEAVING, ()) if name in self._resources.index}:
            self._leaving[job.id] = leaving
        if home and home[0] not in self._resources.index:
            home = None
        if name not in self._resources.index:  # it has none, or its machine is no longer of the site
            self._queue_of[job.id] = since
            return
        if home is not None:
            self._homes[job.id] = (self._resources.index[home[0]], home[1]) if home else None
        self._ordered = max(self._ordered, order)
        resource = self._resources.index[name]
        self._plan.add(Commitment(job.id, resource, seconds, order, is_low=self._is_low(known)))
        self._plan.loose = True
        self._settle(known, self._now)
        self._note_set_back(known)

    def learn(self, job: JobId, seconds: int) -> None:
        """See OpenScheduler."""
        known, commitment = self.jobs[job], self._plan.of(job)
        if commitment is not None:
            queue = self._priority(known).name.lower()
            job_class = self._says(known).job_class
            self._resources.learn(job_class, commitment.resource, known.asked.owner, queue, seconds)

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        """See OpenScheduler."""
        super().leave(job, now, how)
        self._forget(job, now)
        del self._arrivals[job]
        self._touched.update(self._leaving.pop(job, ()))

    def lag(self) -> None:
        """See OpenScheduler: machines are free once nothing is left of a run that is stopped."""
        self._lags = True

    def uses(self, job: JobId, nodes: int) -> None:
        """See OpenScheduler; 0: nothing is left of the run of a job that was preempted."""
        if not nodes and job in self._leaving:
            self._touched.update(self._leaving.pop(job))
            self._have_changed[job] = None
            self.reschedule()

    def _forget(self, job: JobId, now: int) -> None:
        """The job has no commitment, and is in no queue."""
        self._queue_of.pop(job, None)
        self._homes.pop(job, None)
        self._set_back.discard(job)
        commitment = self._plan.remove(job, now)
        if commitment is not None:
            self._touched.update(self._plan.members(commitment))

    def _to_keep(self, job: PlainJob) -> dict[str, Any]:  # type: ignore[override]
        id, kept = job.asked.id, dict[str, Any](super()._to_keep(job))
        commitment = self._plan.of(id)
        if id in self._leaving:
            kept[LEAVING] = [self._resources.names[machine] for machine in sorted(self._leaving[id])]
        if commitment is None:
            since = self._queue_of.get(id, job.asked.submitted)
            return kept | ({SINCE: since} if since != job.asked.submitted else {})
        kept |= {RESOURCE: self._resources.names[commitment.resource]}
        kept |= {SECONDS: commitment.seconds, ORDER: commitment.order}
        if id in self._homes:
            home = self._homes[id]
            kept[HOME] = [] if home is None else [self._resources.names[home[0]], home[1]]
        return kept

    def _says(self, job: PlainJob) -> Classed:
        says = job.asked.columns
        assert isinstance(says, Classed)
        return says

    def _whose(self, job: PlainJob) -> tuple[str, str]:
        """Return its class and its owner, by which it is known where it may run, and for how long."""
        return self._says(job).job_class, job.asked.owner

    def _priority(self, job: PlainJob) -> Priority:
        """That of its submission, unless it was preempted too often."""
        priority, most = self._says(job).priority, self._site.promote_after
        promoted = priority is Priority.LOW and 0 < most <= job.kept.get(PREEMPTED, 0)
        return Priority.MEDIUM if promoted else priority

    def _is_low(self, job: PlainJob) -> bool:
        """Return whether jobs of high priority may take its machines; not if it has started with mates."""
        low = self._site.preemptive and self._priority(job) is Priority.LOW
        return low and not (job.state is RUNNING and job.asked.paired)

    def _commitment(self, job: PlainJob) -> Commitment:
        """That of a job which has one."""
        commitment = self._plan.of(job.asked.id)
        assert commitment is not None
        return commitment

    def _members(self, job: PlainJob) -> Sequence[int]:
        """Return the machines of its commitment."""
        return self._plan.members(self._commitment(job))

    def _settle(self, job: PlainJob, now: int) -> None:
        """The state of a job that has a commitment may have changed: let the plan know."""
        commitment = self._plan.of(job.asked.id)
        if commitment is None:
            return
        start, end = commitment.start, commitment.end
        if job.state is READY:
            start, end = now, now + commitment.seconds
        elif job.state in WITH_NODES:
            end = job.expected
        self._plan.set_low(commitment, is_low=self._is_low(job))
        has = job.state in WITH_NODES
        self._plan.change(commitment, has_machines=has, is_ready=job.state is READY, start=start, end=end)
        self._touched.update(self._plan.members(commitment))

    def _order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        """As they are committed; then those that are not yet."""
        return sorted(queued, key=self._place_in_order)

    def _place_in_order(self, job: PlainJob) -> tuple[int, ...]:
        commitment, arrival = self._plan.of(job.asked.id), self._arrivals[job.asked.id]
        return (0, commitment.order) if commitment is not None else (1, self._priority(job), arrival)

    # Passes

    @property
    def _due(self) -> int | None:
        """When the jobs in the queues are to be placed; None: there are none."""
        if not self._queue_of:
            return None
        since, quantum = min(self._queue_of.values()), self._site.quantum
        return since if not quantum else -(-since // quantum) * quantum

    def enter(self, now: int) -> None:
        """See OpenScheduler."""
        super().enter(now)
        if self._site.quantum and (due := self._due) is not None and due <= now:
            self.reschedule()

    def next_event(self, now: int) -> int | None:
        """See OpenScheduler."""
        instants = [super().next_event(now), self._due]
        return min((at for at in instants if at is not None and at > now), default=None)

    def _begin(self, now: int) -> None:
        super()._begin(now)
        if (due := self._due) is not None and due <= now:
            self._pass(now)
        for job in self._set_back:
            self._touched.update(self._members(self.jobs[job]))
        self._after_release = any(self.jobs[job].released == now for job in self._set_back)
        if self._after_release:
            self._touched.update(range(self._resources.machines))

    def _pass(self, now: int) -> None:
        """Place the jobs of all queues, one after the other; what was set back is planned again."""
        for job in sorted(self._set_back, key=self._arrivals.__getitem__):
            self._to_queue(self.jobs[job], now)
        for priority in Priority:
            chosen = [id for id in self._queue_of if self._priority(self.jobs[id]) is priority]
            if chosen:
                chosen.sort(key=lambda id: (self.jobs[id].asked.submitted, self._arrivals[id]))
                self._call(chosen, now, preempts=priority is Priority.HIGH and self._site.preemptive)

    def _call(self, chosen: list[JobId], now: int, *, preempts: bool) -> None:
        """Place these jobs, and note what they take from others."""
        plan = self._plan
        if plan.is_old(now):
            plan.compact(now)
        order = self._resources.order(plan.with_low() if preempts else set())
        whose = [self._whose(self.jobs[id]) for id in chosen]
        call = self._resources.call(whose, plan.available(now, without_low=preempts), order)
        for placement in self._place(call):
            job, resource = self.jobs[chosen[placement.job]], order[placement.resource]
            if preempts:
                self._take_from_low(job, resource, placement.start, now)
            self._commit(job, resource, placement)

    def _commit(self, job: PlainJob, resource: int, placement: Placement) -> None:
        del self._queue_of[job.asked.id]
        self._ordered += 1
        seconds = placement.end - placement.start
        times = placement.start, placement.end
        made = Commitment(job.asked.id, resource, seconds, self._ordered, *times, is_low=self._is_low(job))
        self._plan.add(made)
        self._note_set_back(job)
        self._touched.update(self._plan.members(made))
        self._have_changed[job.asked.id] = None

    def _take_from_low(self, job: PlainJob, resource: int, start: int, now: int) -> None:
        """Low commitments that are in the way go back to their queue, and what runs is stopped.

        A job that waits for a mate stops others only when it starts.
        """
        for commitment in self._plan.displaced(resource, start):
            other = self.jobs[commitment.job]
            if not commitment.has_machines:
                self._counts["displaced"] += 1
                self._to_queue(other, now)
            elif job.asked.paired:
                self._plan.loose = True  # until it starts it comes behind that one
            else:
                self._preempt(other)

    def _to_queue(self, job: PlainJob, now: int) -> None:
        """The job, which has no machines, is to be placed anew."""
        self._forget(job.asked.id, now)
        self._queue_of[job.asked.id] = now
        if job.passed_over != now + 1:  # what was at an earlier instant is over
            job.passed_over = 0
        if job.released != now:
            job.released = 0
        self._have_changed[job.asked.id] = None

    def _preempt(self, job: PlainJob) -> None:
        if job.state in (READY, HOLDING):  # a job is ready beside one that holds, and this starts first
            self._events.append(NodesLost(job.asked.id))
            self._kept.pop(job.asked.id, None)
            self._queue(job)
        else:
            self._counts["preempted"] += 1
            job.kept[PREEMPTED] = job.kept.get(PREEMPTED, 0) + 1
            if self._lags:
                self._leaving.setdefault(job.asked.id, set()).update(self._members(job))
            super()._preempt(job)
        self._to_queue(job, self._now)

    def _note_set_back(self, job: PlainJob) -> None:
        """A job that has yielded, or was released, is planned again at the next pass."""
        if job.state is QUEUED and job.asked.id in self._plan and (job.passed_over or job.released > 0):
            self._set_back.add(job.asked.id)

    # Numbers

    def counts(self) -> Mapping[str, Any]:
        """See OpenScheduler."""
        return dict(self._counts)

    kept_of_domain = counts

    def recall(self, kept: Mapping[str, Any]) -> None:
        """See OpenScheduler."""
        self._counts = dict(kept)
