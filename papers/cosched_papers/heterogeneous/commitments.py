"""What a heterogeneous domain has committed, and the three queues of what it has not (docs/heterogeneous.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from cosched.core.allocation import Allocation
from cosched.core.protocol import JobId
from cosched.core.scheduling.plain_job import QUEUED, READY, RUNNING, PlainJob
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob
from cosched.core.scheduling.slots import SLOT
from cosched_papers.heterogeneous.algorithms import ALGORITHMS
from cosched_papers.heterogeneous.calls import Call, Placement
from cosched_papers.heterogeneous.greedy import pjs
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.plan import Commitment, Plan
from cosched_papers.heterogeneous.resources import Resources
from cosched_papers.heterogeneous.settings import Algorithm, HeterogeneousSettings

# What is kept of a job: its resource, its expected time there, and its place among all commitments; the resource and
# the time to which it goes back if it does not start on the former; since when it is queued again; how often preempted.
RESOURCE, SECONDS, ORDER, HOME, SINCE, PREEMPTED = "resource", "seconds", "order", "home", "since", "preempted"
KEPT = frozenset({RESOURCE, SECONDS, ORDER, HOME, SINCE, PREEMPTED})


class Commitments:
    """Which job runs next on which machines, and which are to be placed. `note`: more is to be kept of a job."""

    def __init__(self, settings: HeterogeneousSettings, note: Callable[[JobId], None]) -> None:
        self._site, self._note = settings.site, note
        self.resources = Resources(settings.site, settings.times)
        self._place: Callable[[Call], list[Placement]] = ALGORITHMS[settings.algorithm]
        if settings.algorithm is Algorithm.PJS:
            self._place = partial(pjs, goes_on=settings.goes_on)
        self.plan = Plan(self.resources.members, self.resources.machines)
        self.waiting: dict[JobId, int] = {}  # jobs without a commitment, and since when
        self._arrivals: dict[JobId, int] = {}  # in which order jobs were submitted
        self._homes: dict[JobId, tuple[int, int] | None] = {}  # see HOME; None: to its queue
        self.set_back: set[JobId] = set()  # jobs that have yielded or were released, and were not planned again since
        self.touched: set[int] = set()  # machines on which another job may be the first now
        self._arrived = self._ordered = 0

    # Jobs in and out

    def check(self, job: ClusterJob) -> None:
        """ValueError: the job can, or may, not run here."""
        if not isinstance(job.columns, Classed) or not job.columns.job_class:
            raise ValueError("job_class: missing, by which it is known how long the job runs where")
        self.resources.check(job.columns.job_class, job.columns.priority, job.owner)
        if job.state is not QUEUED and job.kept.get(RESOURCE) not in {None, *self.resources.names}:
            raise ValueError(f"the site has no {job.kept[RESOURCE]}, where it is")

    def submit(self, job: PlainJob, now: int) -> bool:
        """Put a job into its queue, or (after a restart) commit it as before; return whether it is committed."""
        self._arrived += 1
        id, kept, index = job.asked.id, job.kept, self.resources.index
        self._arrivals[id] = self._arrived
        name, seconds, order = kept.pop(RESOURCE, None), kept.pop(SECONDS, 0), kept.pop(ORDER, 0)
        home, since = kept.pop(HOME, None), kept.pop(SINCE, job.asked.submitted)
        if home and home[0] not in index:
            home = None
        if name not in index:  # it has none, or its machine is no longer of the site
            self.waiting[id] = since
            return False
        if home is not None:
            self._homes[id] = (index[home[0]], home[1]) if home else None
        self._ordered = max(self._ordered, order)
        slot = kept.get(SLOT, 0)
        self.plan.add(Commitment(id, index[name], seconds, order, is_low=self.is_low(job), slot=slot))
        self.plan.loose = True
        self.settle(job, now)
        self.note_set_back(job)
        return True

    def kept(self, job: PlainJob) -> Mapping[str, Any]:
        """Return what to keep of a job."""
        id, names = job.asked.id, self.resources.names
        commitment = self.plan.of(id)
        if commitment is None:
            since = self.waiting.get(id, job.asked.submitted)
            return {SINCE: since} if since != job.asked.submitted else {}
        kept = {RESOURCE: names[commitment.resource], SECONDS: commitment.seconds, ORDER: commitment.order}
        if id in self._homes:
            home = self._homes[id]
            kept[HOME] = [] if home is None else [names[home[0]], home[1]]
        return kept

    def learn(self, job: PlainJob, seconds: int) -> None:
        """Note that a run has completed after so many seconds."""
        if (commitment := self.plan.of(job.asked.id)) is not None:
            queue = self.priority(job).name.lower()
            self.resources.learn(self.says(job).job_class, commitment.resource, job.asked.owner, queue, seconds)

    def leave(self, job: JobId, now: int) -> None:
        """Note that the job is gone."""
        self._forget(job, now)
        del self._arrivals[job]

    def _forget(self, job: JobId, now: int) -> None:
        """Note that the job has no commitment, and is in no queue."""
        self.waiting.pop(job, None)
        self._homes.pop(job, None)
        self.set_back.discard(job)
        commitment = self.plan.remove(job, now)
        if commitment is not None:
            self.touched.update(self.plan.members(commitment))

    # What is known of a job

    @staticmethod
    def says(job: PlainJob) -> Classed:
        """Return what it says of itself."""
        says = job.asked.columns
        assert isinstance(says, Classed)
        return says

    def _whose(self, job: PlainJob) -> tuple[str, str]:
        """Return its class and its owner, by which it is known where it may run, and for how long."""
        return self.says(job).job_class, job.asked.owner

    def priority(self, job: PlainJob) -> Priority:
        """Return that of its submission, unless it was preempted too often."""
        priority, most = self.says(job).priority, self._site.promote_after
        promoted = priority is Priority.LOW and 0 < most <= job.kept.get(PREEMPTED, 0)
        return Priority.MEDIUM if promoted else priority

    def is_low(self, job: PlainJob) -> bool:
        """Return whether jobs of high priority may take its machines: not if it has a slot, or runs with mates."""
        low = SLOT not in job.kept and self._site.preemptive and self.priority(job) is Priority.LOW
        return low and not (job.state is RUNNING and job.asked.paired)

    def of(self, job: PlainJob) -> Commitment:
        """Return the commitment of a job that has one."""
        commitment = self.plan.of(job.asked.id)
        assert commitment is not None
        return commitment

    def members(self, job: PlainJob) -> Sequence[int]:
        """Return the machines of its commitment."""
        return self.plan.members(self.of(job))

    def seconds(self, job: PlainJob, resource: int) -> int:
        """Return how long it is expected to run on a resource."""
        return int(self.resources.row_for(*self._whose(job))[resource])

    def place_in_order(self, job: PlainJob) -> tuple[int, ...]:
        """Return its place in the order of turns: as jobs are committed; then those that are not yet."""
        commitment, arrival = self.plan.of(job.asked.id), self._arrivals[job.asked.id]
        return (0, commitment.order) if commitment is not None else (1, self.priority(job), arrival)

    def allocation(self, job: PlainJob) -> Allocation:
        """Return what it will have when it starts."""
        resources, commitment = self.resources, self.of(job)
        where = tuple(resources.names[machine] for machine in self.members(job))
        stated = resources.stated(self.says(job).job_class, commitment.resource)
        rate = Fraction(max(1, job.asked.requested), stated)
        return Allocation(len(where), rate=rate, where=where, resource=resources.names[commitment.resource])

    # What changes

    def settle(self, job: PlainJob, now: int) -> None:
        """Note that the state of a job that has a commitment may have changed: let the plan know."""
        commitment = self.plan.of(job.asked.id)
        if commitment is None:
            return
        start, end = commitment.start, commitment.end
        if job.state is READY:
            start, end = now, now + commitment.seconds
        elif job.state in WITH_NODES:
            end = job.expected
        self.plan.set_low(commitment, is_low=self.is_low(job))
        has = job.state in WITH_NODES
        self.plan.change(commitment, has_machines=has, is_ready=job.state is READY, start=start, end=end)
        self.touched.update(self.plan.members(commitment))

    def to_queue(self, job: PlainJob, now: int) -> None:
        """Note that the job, which has no machines, is to be placed anew, unless it has a slot."""
        if SLOT in job.kept:
            return
        self._forget(job.asked.id, now)
        self.waiting[job.asked.id] = now
        if job.passed_over != now + 1:  # what was at an earlier instant is over
            job.passed_over = 0
        if job.released != now:
            job.released = 0
        self._note(job.asked.id)

    def note_set_back(self, job: PlainJob) -> None:
        """A job that has yielded, or was released, is planned again at the next pass, unless it has a slot."""
        has_none = job.state is QUEUED and job.asked.id in self.plan and SLOT not in job.kept
        if has_none and (job.passed_over or job.released > 0):
            self.set_back.add(job.asked.id)

    def stays(self, job: JobId) -> None:
        """Note that the job does not go back to where it was, and is not planned again."""
        self._homes.pop(job, None)
        self.set_back.discard(job)

    def start(self, job: PlainJob, now: int) -> None:
        """Note that the job has started."""
        self.of(job).start = now
        self.settle(job, now)

    def commit(self, job: PlainJob, resource: int, start: int, seconds: int) -> Commitment:
        """Commit the job anew, behind all others."""
        self._ordered += 1
        end, is_low = start + seconds, self.is_low(job)
        made = Commitment(job.asked.id, resource, seconds, self._ordered, start, end, is_low=is_low)
        self.plan.add(made)
        return made

    def move(self, job: PlainJob, resource: int, start: int, seconds: int, now: int) -> None:
        """Note that the job is committed there for its slot, behind all others."""
        own = self.plan.of(job.asked.id)
        if own is not None and own.resource == resource:
            self._ordered += 1
            self.plan.reorder(own, self._ordered)
        else:
            self._forget(job.asked.id, now)
            self.commit(job, resource, start, seconds)

    def try_on(self, job: PlainJob, resource: int, now: int) -> None:
        """Note that the job is to start on this resource; if it does not, it goes back to where it is."""
        id, planned = job.asked.id, self.plan.of(job.asked.id)
        if planned is not None and planned.resource == resource:
            return
        self._ordered += planned is None
        home, order = (None, self._ordered) if planned is None else ((planned.resource, planned.seconds), planned.order)
        self._forget(id, now)
        self._homes[id] = home
        seconds = self.seconds(job, resource)
        self.plan.add(Commitment(id, resource, seconds, order, now, now + seconds, is_low=self.is_low(job)))

    def go_home(self, job: PlainJob, now: int) -> None:
        """Note that a job that does not start goes back to where it was before it was tried elsewhere."""
        id = job.asked.id
        if id not in self._homes:
            return
        home, order = self._homes[id], self.of(job).order
        self.to_queue(job, now)
        if home is not None:
            del self.waiting[id]
            self.plan.add(Commitment(id, *home, order, is_low=self.is_low(job)))
            self.plan.loose = True
            self.touched.update(self.members(job))

    # Passes

    @property
    def due(self) -> int | None:
        """When the jobs in the queues are to be placed; None: there are none."""
        if not self.waiting:
            return None
        since, quantum = min(self.waiting.values()), self._site.quantum
        return since if not quantum else -(-since // quantum) * quantum

    def is_due(self, now: int) -> bool:
        """Return whether the end of a quantum has come, at which jobs are placed though nothing else happens."""
        return bool(self._site.quantum) and self.due is not None and self.due <= now

    def begin(self, jobs: Mapping[JobId, PlainJob], now: int) -> Iterator[tuple[Priority, list[PlainJob]]]:
        """Yield the jobs to be placed in a pass, by queue: those that were set back, too."""
        for id in sorted(self.set_back, key=self._arrivals.__getitem__):
            self.to_queue(jobs[id], now)
        for priority in Priority:
            chosen = [jobs[id] for id in self.waiting if self.priority(jobs[id]) is priority]
            if chosen:
                yield priority, sorted(chosen, key=lambda job: (job.asked.submitted, self._arrivals[job.asked.id]))

    def place(self, chosen: Sequence[PlainJob], now: int, *, preempts: bool) -> Iterator[tuple[PlainJob, int, int]]:
        """Place these jobs. Before each is committed, yield it, its resource, and the instant at which it starts."""
        plan = self.plan
        if plan.is_old(now):
            plan.compact(now)
        order = self.resources.order(plan.with_low() if preempts else set())
        whose = [self._whose(job) for job in chosen]
        call = self.resources.call(whose, plan.available(now, without_low=preempts), order)
        for placement in self._place(call):
            job, resource = chosen[placement.job], order[placement.resource]
            yield job, resource, placement.start
            del self.waiting[job.asked.id]
            made = self.commit(job, resource, placement.start, placement.end - placement.start)
            self.note_set_back(job)
            self.touched.update(plan.members(made))
            self._note(job.asked.id)
