"""The scheduler of a heterogeneous domain (docs/heterogeneous.md): a `core.scheduling.scheduler.OpenScheduler`.

It holds the lines in which its commitments start, and the slots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cosched.core.allocation import Allocation
from cosched.core.events import Ready
from cosched.core.protocol import JobId
from cosched.core.scheduling.plain import PlainJob, PlainScheduler
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.site_tables import Row, SiteTables
from cosched_papers.heterogeneous.commitments import KEPT
from cosched_papers.heterogeneous.handover import LEAVING
from cosched_papers.heterogeneous.jobs import Priority
from cosched_papers.heterogeneous.lines import Lines
from cosched_papers.heterogeneous.settings import CAPABILITIES, HeterogeneousSettings
from cosched_papers.heterogeneous.slots import MachineSlots


class Heterogeneous(PlainScheduler):
    """See Scheduler: jobs are committed to machines that are not alike, and start there."""

    capabilities = CAPABILITIES
    keeps = PlainScheduler.keeps | KEPT | {LEAVING}
    slots: MachineSlots
    turns: Lines

    def __init__(self, settings: HeterogeneousSettings) -> None:
        super().__init__(settings.nodes, slots=settings.slots, turns=partial(Lines, settings=settings))
        self.commitments, self.taking = self.turns.commitments, self.turns.taking
        self.capabilities = replace(self.capabilities, preempt=settings.site.preemptive)
        self.site_tables = site_tables(settings)
        self.run_times = self.commitments.resources.run_times
        self.meeting = self.slots = MachineSlots(self)

    def check(self, job: ClusterJob) -> None:
        self.commitments.check(job)

    def learn(self, job: JobId, seconds: int) -> None:
        self.commitments.learn(self.jobs[job], seconds)

    # Iterations

    def enter(self, now: int) -> None:
        super().enter(now)
        if self.commitments.is_due(now):
            self.reschedule()

    def next_event(self, now: int) -> int | None:
        instants = [super().next_event(now), self.commitments.due]
        return min((at for at in instants if at is not None and at > now), default=None)

    def next(self, now: int) -> Ready | None:
        """See Scheduler. What was stopped is placed anew at once."""
        ready = super().next(now)
        while self.turns.handover.lags and ready is None and self.changed and self.iteration.offered is None:
            ready = super().next(now)
        return ready

    def reschedule(self, job: JobId | None = None) -> None:
        """See Scheduler: what has changed for a job may be that its mate is there, or that it starts alone."""
        if job is not None:
            self.turns.handover.vain.forget(job)
        super().reschedule(job)

    # Machines that change hands

    def lag(self) -> None:
        """See OpenScheduler: machines are free once nothing is left of a run that is stopped."""
        self.turns.handover.lags = True

    def uses(self, job: JobId, nodes: int) -> None:
        """See OpenScheduler; 0: nothing is left of the run of a job that was preempted."""
        if not nodes:
            self.taking.has_left(job)

    def stop_later(self, may: Callable[[JobId], bool]) -> None:
        self.turns.handover.may_stop_later = may

    def stops_others(self, job: JobId) -> bool:
        return self.taking.stops_others(job)

    # Starts

    def _run(self, job: PlainJob, now: int) -> Allocation:
        allocation = super()._run(job, now)
        self.commitments.start(job, now)
        return replace(allocation, ends_by=now + max(job.asked.requested, self.duration(job)))

    def duration(self, job: PlainJob) -> int:
        return self.commitments.of(job).seconds

    def allocation(self, job: PlainJob) -> Allocation:
        return self.commitments.allocation(job)

    # Numbers

    def counts(self) -> Mapping[str, Any]:
        return dict(self.taking.counts)

    kept_of_domain = counts

    def recall(self, kept: Mapping[str, Any]) -> None:
        self.taking.counts = dict(kept)


def site_tables(settings: HeterogeneousSettings) -> SiteTables:
    """Return the rows of each table, in the order of the site's file."""
    site, machines = settings.site, settings.site.machines
    served = [(cluster, cluster.interconnect) for cluster in site.clusters]
    names = dict.fromkeys(machine.machine_class for machine in machines)
    job_classes = dict.fromkeys(job_class for job_class, _ in settings.times)
    return {
        "policies": [
            ("quantum", str(site.quantum)),
            ("promote_after", str(site.promote_after)),
            ("on_failure", "next" if settings.goes_on else "stop"),
        ],
        "machine_classes": [(name, site.machine_classes.get(name, "")) for name in names],
        "machines": [(of.name, of.machine_class, number not in site.down) for number, of in enumerate(machines)],
        "interconnects": list(dict.fromkeys((of.name, of.bandwidth, of.latency) for _, of in served if of is not None)),
        "clusters": [(of.name, of.min_members, None if link is None else link.name) for of, link in served],
        "cluster_members": [(of.name, machines[member].name) for of in site.clusters for member in of.members],
        "queues": [_queue(settings, queue) for queue in Priority],
        "job_classes": [(name, site.job_classes.get(name, "")) for name in job_classes],
        "file_times": [(*pair, seconds) for pair, seconds in settings.times.items()],
        "access": [(what.value, name, user) for (what, name), users in site.users.items() for user in sorted(users)],
    }


def _queue(settings: HeterogeneousSettings, queue: Priority) -> Row:
    """Return its name, its algorithm, and whether its jobs take the machines of others, or may lose their own."""
    preemptive = settings.site.preemptive
    return (
        queue.name.lower(), settings.algorithm.value, preemptive and queue is Priority.HIGH,
        preemptive and queue is Priority.LOW,
    )  # fmt: skip
