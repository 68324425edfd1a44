"""The world of `world`, in which resource managers schedule, as Slurm does: jobs, offers and hooks outlive a domain.

Each machine takes its jobs in order of submission, whichever fit. A job that names a mate is offered, and keeps its
nodes until its hook is told something, or the domain is dead for longer than hooks are patient: then it starts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from cosched.core.effects import Answer, Call, PassOver, Release, Reschedule, Start, Try, TryReady, Yield
from cosched.core.job import JobState
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.service.domain.changes import Order
from cosched.service.domain.late_answers import Late, reply_to
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.offered_jobs import OfferedJobs
from cosched.service.domain.recovery import recover
from cosched.service.store import JobRecord
from tests.service.job_records import queued
from tests.service.outside import TIMEOUT, Outside
from tests.service.world import METRICS, Node, World, WorldClock

NODES = 10
BACKOFF = 8  # seconds, as all below
TRY_PATIENCE = 3
PASSED_OVER = 3
OTHERS_TURN = 2

QUEUED, OFFERED, RUNNING, DONE = range(4)


@dataclass
class Job:
    id: str
    nodes: int
    run: int
    pair: str | None
    group: str | None = None
    state: int = QUEUED
    eligible_at: int = 0
    runs: int = 0  # started so often
    offer: int = 0  # the number of its latest

    @property
    def alone(self) -> bool:
        return self.pair is None and self.group is None


class LateAnswers:
    """The answers that take a while: they go back through the world."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Any, Callable[[Any], None]]] = []

    def tell(self, answer: Answer) -> None:
        if not isinstance(answer.request, Late):
            return
        for entry in list(self.waiting):
            peer, request, deliver = entry
            same_job = (peer, request.caller) == (answer.peer, answer.request.caller)
            if same_job and (reply := reply_to(request, answer)) is not None:
                self.waiting.remove(entry)
                deliver(reply)


class SlurmNode(Node):
    """One domain and its resource manager."""

    hook_patience = 10
    lost_nodes = 0.0  # how often an offered job loses its nodes, at each look of the manager

    def begin(self) -> None:
        if not hasattr(self, "slurm"):
            self.slurm: dict[str, Job] = {}
            self.trying: set[str] = set()
            self.world.at(self.world.now, self._schedule_for_ever)
        self.trying.clear()
        super().begin()

    def _live(self) -> None:
        self.outside = self._outside()
        scheduler = self._scheduler()
        self.domain = LiveDomain(self.name, self.settings, scheduler, self.store, WorldClock(self.world), METRICS)
        self.offered = OfferedJobs(self.domain, scheduler, lambda *_: None)
        recover(self.domain, self.outside)
        self._recovered()
        for job in self.slurm.values():
            self._take_up(job)
        self._hooks_call_again()

    def _scheduler(self) -> ExternalScheduler:
        return ExternalScheduler(ExternalSettings(NODES))

    def _outside(self) -> SlurmOutside:
        return SlurmOutside(self, self.lives)

    def _recovered(self) -> None:
        """The domain is up, and does not know yet what its manager has done meanwhile."""

    def _take_up(self, job: Job) -> None:
        """As `Offers.take_up` does."""
        if job.alone:
            return
        if job.state == DONE:
            self.domain.started(job.id)
            self.domain.end(job.id, JobState.COMPLETED)
            return
        if job.id not in self.domain.jobs:
            self.offered.submitted(self.record(job))
        if job.state == RUNNING:
            self.domain.started(job.id)
        elif job.state == QUEUED and self.domain.state(job.id) in (JobState.READY, JobState.HOLDING):
            self.offered.withdrawn(job.id)

    def _hooks_call_again(self) -> None:
        for job in self.slurm.values():
            if job.state == OFFERED:
                self.outside.later(self.world.now + 1, lambda job=job: self._offer(job))

    def _die(self) -> None:
        super()._die()
        life = self.lives
        self.world.at(self.world.now + self.hook_patience, lambda: self._fail_open(life))

    def _fail_open(self, life: int) -> None:
        if self.lives == life:  # it is still dead
            for job in self.slurm.values():
                if job.state == OFFERED:
                    self._run(job)

    # Jobs

    def record(self, job: Job) -> JobRecord:
        named = self.named(job.pair, job.group)
        return queued(int(job.id), job.nodes, 0, self.world.now, named=named, domain=self.name)

    def submit(self, job: int, nodes: int, run: int, pair: str | None, group: str | None = None) -> None:
        self.expected.add(str(job))
        new = self.slurm[str(job)] = Job(str(job), nodes, run, pair, group)
        if not new.alone:
            self.guarded(lambda: self.offered.submitted(self.record(new)))
        self.schedule()

    # The manager

    def schedule(self) -> None:
        self.world.at(self.world.now + self.world.random.randint(0, 1), self._schedule)

    def _schedule_for_ever(self) -> None:
        self._schedule()
        for job in self.slurm.values():
            if job.state == OFFERED and self.world.chance(self.lost_nodes):
                self._lose(job)
        self.world.at(self.world.now + 5, self._schedule_for_ever)

    @property
    def used(self) -> int:
        return sum(job.nodes for job in self.slurm.values() if job.state in (OFFERED, RUNNING))

    def fits_now(self, job: Job) -> bool:
        """Whether the manager would choose the job now."""
        return self.used + job.nodes <= NODES

    def _schedule(self) -> None:
        for job in list(self.slurm.values()):
            if job.state == QUEUED and job.eligible_at <= self.world.now and self.fits_now(job):
                if job.alone:
                    self._run(job)
                else:
                    job.state, job.offer = OFFERED, job.offer + 1
                    self.guarded(lambda job=job: self._offer(job))

    def _offer(self, job: Job) -> None:
        if job.state != OFFERED:
            return
        if job.id in self.trying:
            self.trying.discard(job.id)
            self.offered.tried(job.id, job.offer)
        else:
            self.offered.offered(job.id, job.nodes, can_yield=True, number=job.offer)

    def _lose(self, job: Job) -> None:
        self.requeue(job.id, 1)
        self.guarded(lambda: self.offered.withdrawn(job.id))

    def _run(self, job: Job) -> None:
        job.state = RUNNING
        job.runs += 1
        self.starts[job.id] += 1
        self.started_at[job.id] = self.world.now
        if not job.alone:
            self.guarded(lambda: self.domain.started(job.id))
        self.world.at(self.world.now + job.run, lambda: self._complete(job))

    def _complete(self, job: Job) -> None:
        job.state = DONE
        self.done.add(job.id)
        if not job.alone:
            self.guarded(lambda: self.domain.end(job.id, JobState.COMPLETED))
        self.schedule()

    # What it is told

    def start(self, job: str) -> None:
        if self.slurm[job].state == OFFERED:
            self._run(self.slurm[job])

    def requeue(self, job: str, backoff: int, offer: int | None = None) -> None:
        if self.slurm[job].state == OFFERED and offer in (None, self.slurm[job].offer):
            self.slurm[job].state = QUEUED
            self.slurm[job].eligible_at = self.world.now + backoff
            self.world.at(self.world.now + backoff, self.schedule)
            self.schedule()


class SlurmOutside(Outside):
    """What such a domain does outside: its orders take effect a moment later."""

    def __init__(self, node: Node, life: int) -> None:
        super().__init__(node, life)
        self.late = LateAnswers()

    def answer(self, answer: Answer) -> None:
        self.late.tell(answer)

    def order(self, order: Order) -> None:
        self.node.may_die()
        _ORDERS[type(order)](self, order)

    def _release(self, order: Release) -> None:
        """The wanted come first for as long as it takes."""
        node = self.node
        stack = ExitStack()
        wanted = node.offered.scheduler.wanted(self.world.now)
        stack.enter_context(node.offered.scheduler.favouring(wanted))
        for job in wanted:
            node.slurm[job].eligible_at = 0
        node.requeue(order.job, OTHERS_TURN, order.offer)
        self.later(self.world.now + OTHERS_TURN, stack.close)

    def _hasten(self, order: Reschedule) -> None:
        self.node.slurm[order.job].eligible_at = 0
        self.node.schedule()

    def _try(self, order: Try | TryReady) -> None:
        node, job = self.node, self.node.slurm[order.job]
        node.trying.add(job.id)
        job.eligible_at = 0
        self.later(self.world.now, lambda: node._offer(job))  # it may have been offered just now
        node.schedule()
        self.later(self.world.now + 1, lambda: node.offered.give_way(job.id))
        self.later(self.world.now + TRY_PATIENCE, lambda: self._end_try(job))

    def _end_try(self, job: Job) -> None:
        if job.id in self.node.trying:
            self.node.trying.discard(job.id)
            self.node.offered.tried(job.id, 0)

    # Calls, whose answers may take a while

    def _arrive(self, call: Call, mutating: bool) -> None:
        peer = self.world.nodes[call.peer]
        life = peer.lives
        reply = self._ask(call)
        if reply is None and peer.domain is not None and peer.lives == life and mutating:
            self._await(peer, call)
        elif reply is None:
            self._replied(call, mutating, None)
        else:
            self._once_on_disk(call, mutating, reply)

    def _await(self, peer: SlurmNode, call: Call) -> None:
        deliver = self._answered_once(call, True)
        peer.outside.late.waiting.append((self.node.name, call.request, deliver))
        self.world.at(self.world.now + TIMEOUT, lambda: deliver(None))


_ORDERS: dict[type, Callable[[SlurmOutside, Any], None]] = {
    Start: lambda outside, order: outside.node.start(order.job),
    Yield: lambda outside, order: outside.node.requeue(order.job, BACKOFF, order.offer),
    PassOver: lambda outside, order: outside.node.requeue(order.job, PASSED_OVER, order.offer),
    Release: SlurmOutside._release,
    **dict.fromkeys((Try, TryReady), lambda outside, order: outside._try(order)),
    Reschedule: SlurmOutside._hasten,
}


class SlurmWorld(World):
    """Domains a and b, whose managers schedule; more for groups."""

    node_kind = SlurmNode
