"""Besieged domains whose jobs follow others: their peers say that members have changed, and anything of how they stand.

Runs are taken back by the resource manager, and ended by the rules; an order takes a while to be carried out, and comes
to nothing if the job has ended otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from cosched.core.domain import Change
from cosched.core.effects import Call, EndRun
from cosched.core.events import Asked, Requeued, RunsOn
from cosched.core.job import JobState
from cosched.core.protocol import EndedBy, MateStatus, OnMemberRequeued, Reply, Request, Status, TellMember, Terms
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.story import Why

from .besieged import Besieged

CHANGED = [Status.QUEUING, Status.HOLDING, Status.ENDED, Status.FAILED, Status.CANCELLED]


class Followers(Besieged):
    """To be mixed in before a kind of besieged domain."""

    def __init__(self, seed: int) -> None:
        self.orders_to_end: dict[str, tuple[int, EndRun]] = {}
        self.ended: set[Why] = set()
        super().__init__(seed)
        choice = self.random.choice(list(OnMemberRequeued))
        settings = replace(self.core.settings, on_member_requeued=choice, max_requeues=self.random.choice([1, 3, 99]))
        self.core.ledger.configure(settings)
        for id in self.core.jobs:
            self.give_terms(id)

    def give_terms(self, id: str) -> None:
        draw, job = self.random, self.core.jobs[id]
        if job.group is not None:
            ends_with = tuple(peer for peer in job.peers if draw.random() < 0.4)
            fails, if_requeued = draw.random() < 0.4, draw.choice([None, *OnMemberRequeued])
            job.group.terms = Terms(ends_with, fails, if_requeued, draw.choice([None, 5]))

    def link(self, id: str) -> None:
        super().link(id)
        self.give_terms(id)

    def submit_again(self, id: str) -> None:
        super().submit_again(id)
        self.give_terms(id)

    def follow(self, changes: list[Change]) -> None:
        for change in changes:
            if type(change) is EndRun:
                job = self.core.jobs[change.job]
                assert (job.ending, job.again, job.state) == (change.why, change.again, JobState.RUNNING)
                self.orders_to_end[change.job] = self.now + self.random.randrange(5), change
        super().follow(changes)

    def step(self) -> None:
        for id, (at, order) in list(self.orders_to_end.items()):
            if at <= self.now:
                del self.orders_to_end[id]
                self.carry_out(order)
        if self.random.random() < 0.05:
            self.take_back(self.random.choice(list(self.core.jobs)))
        super().step()

    def carry_out(self, order: EndRun) -> None:
        job = self.core.jobs[order.job]
        if job.state is not JobState.RUNNING or job.ending is None:
            return  # it is over
        self.ended.add(order.why)
        if not order.again:
            self.timers.pop((job.id, "end"), None)
            self.end(job.id)
        elif self.random.random() < 0.8:
            self.take_back(job.id)
        else:
            self.tell(RunsOn(job.id))

    def take_back(self, id: str) -> None:
        if self.core.jobs[id].state is not JobState.RUNNING:
            return
        self.timers.pop((id, "end"), None)
        self.cluster.enter(self.now)
        nodes = self.cluster.job(id).nodes
        self.cluster.leave(id, self.now, JobState.CANCELLED)
        self.cluster.submit(ClusterJob(id, nodes, 20, self.now, self.domain.is_paired(id)))
        self.tell(Requeued(id))

    # What peers may say

    def request(self) -> Asked:
        with_others = [job for job in self.core.jobs.values() if job.peers]
        if not with_others or self.random.random() < 0.7:
            return super().request()
        job = self.random.choice(with_others)
        peer = self.random.choice(job.peers)
        return Asked(peer, TellMember(job.id, self.mate(job, peer), self.number()))

    def reply(self, call: Call, request: Request) -> Reply:
        said, draw = super().reply(call, request), self.random
        if not isinstance(said, MateStatus):
            return said
        status = draw.choice(CHANGED) if self.core.jobs[call.job].state is JobState.RUNNING else said.status
        return said._replace(status=status, runs=draw.randrange(4), ended_by=draw.choice(list(EndedBy)))

    # What holds

    def check(self) -> None:
        super().check()
        for job in self.core.jobs.values():
            assert job.ending is None or job.state is JobState.RUNNING, f"job {job.id} is {job.state.name}"
            assert job.ending is not None or not job.again
