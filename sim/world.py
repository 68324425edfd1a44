"""N policy domains with an in-memory link and timers on one virtual clock: the shell of the core in a simulation.

It is told what happens to paired jobs, hands these events to each `PolicyDomain` and does what comes back. Calls
between domains are answered at once, so equal inputs give equal outputs to the byte. Who leads it through time is
`federation.batch_world`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

import numpy as np

from cosched.core.allocation import Gathered, SizeChanged
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.domain import PolicyDomain
from cosched.core.effects import Answer, Call, CancelJob, EndRun, Record, Start, Wanted
from cosched.core.events import (
    Answered,
    Asked,
    CallFailed,
    Event,
    Finished,
    MayBeEarlier,
    PeerThere,
    Ready,
    Requeued,
    Submitted,
)
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    Failure,
    GetMateJobId,
    GetMateStatus,
    JobId,
    MateProblem,
    Named,
    Reply,
    Request,
)
from cosched.core.scheduling.batch.cluster import Cluster
from cosched.core.scheduling.primitives.tables import MAX_TIME, NEVER, Tables, new_tables
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched.core.timers import TimerQueue
from cosched.schedulers.batch import BATCH
from cosched.schedulers.kind import SchedulerKind
from cosched.sim.batch_domain import BatchDomain, MeetingDomain
from cosched.sim.link import Link
from cosched.sim.questions import VainQuestions
from cosched.sim.telling import Story, told_of_call
from cosched.workload.jobs import Workload
from cosched.workload.pairing import Group, Pairing


@dataclass(frozen=True, slots=True)
class DomainSetup:
    """One policy domain of a simulation, with the settings of its scheduler, and its jobs as that takes them."""

    name: str
    workload: Workload
    cluster: Any  # the settings of its kind of scheduler: MachineSettings
    coscheduling: CoschedulingSettings
    kind: SchedulerKind = BATCH
    jobs: Any = None  # see SchedulerKind

    def __post_init__(self) -> None:
        if self.cluster.slots != self.coscheduling.slots:
            raise ValueError(f"{self.name}: its scheduler and its coscheduling differ in whether it gives slots")


class Script(Protocol):
    """Events of a simulation other than those of its jobs; `what_if.WhatIf` is one such script."""

    def next(self) -> int:
        """Return the instant of the next event, or NEVER."""

    def fire(self, world: World) -> None:
        """Carry out the events of the world's current instant."""


class NoScript:
    """A script without events."""

    def next(self) -> int:
        """Return NEVER."""
        return NEVER

    def fire(self, world: World) -> None:
        """Do nothing."""


class World:
    """Policy domains with batch schedulers, all in one set of tables; read `tables`, `coschedulers` and `now`."""

    def __init__(
        self,
        domains: Sequence[DomainSetup],
        pairing: Pairing,
        script: Script | None = None,
        story: Story | None = None,
        *,
        elsewhere: Collection[Domain] = (),
        link: Link | None = None,
    ) -> None:
        """`pairing`: the pairs and groups of `domains`.

        Some domains may be `elsewhere`: called, and calling, by the `link`.
        """
        self.domains = [domain for domain in domains if domain.name not in elsewhere]
        self.pairing = pairing
        self.story = story
        self.now = 0
        self.tables = _fill_tables(self.domains)
        self.first = [int(first) for first in self.tables.domains["first"]]
        self._hold_limit = self.tables.domains["hold_limit"].item
        self.schedulers = [_scheduler(self.tables, i, domain.cluster) for i, domain in enumerate(self.domains)]
        self.clusters: list[Cluster] = [scheduler.cluster for scheduler in self.schedulers]
        self.coschedulers = [
            Coscheduler(domain.name, domain.cluster.nodes, domain.coscheduling, story=story is not None)
            for domain in self.domains
        ]
        self.timers = timers = TimerQueue()
        self.policies = [
            PolicyDomain(*each, timers=timers) for each in zip(self.coschedulers, self.schedulers, strict=True)
        ]
        self.index = {domain.name: i for i, domain in enumerate(self.domains)}
        self._named: dict[int, Named] = {}  # by row
        self.job_id: dict[int, JobId] = {}  # row -> job id, of paired jobs
        self.script = script or NoScript()
        self._cut: set[frozenset[int]] = set()
        self._reply: Reply | None = None
        self.link = link or Link()
        for name in self.index:
            self.link.join(name, self)
        self._off_elsewhere = {d.name for d in domains if d.name in elsewhere and not d.coscheduling.enabled}
        self._questions = VainQuestions(self.tables)
        self._link_pairs(domains)
        if story is None and not elsewhere and self.script.next() == NEVER:
            settings = [(domain.cluster, domain.coscheduling) for domain in self.domains]
            self._questions.leave_out(settings, self.first, pairing)

    # What happens to paired jobs

    def submitted(self, domain: int, row: int) -> None:
        """A job was submitted."""
        self.feed(domain, Submitted(self.job_id[row], self._named[row]))

    def ended(self, domain: int, row: int) -> None:
        """A job ended."""
        self.feed(domain, Finished(self.job_id[row], JobState.COMPLETED))

    def ready(self, domain: int, row: int) -> None:
        """A job is ready: afterwards it runs, holds or is passed over."""
        if self._questions.in_vain(row):
            self.policies[domain].yield_again(self.job_id[row], self.now)
            return
        self.feed(domain, Ready(self.job_id[row], self.clusters[domain].has(row), self._hold_limit(domain)))

    def meet(self, domain: int) -> None:
        """A domain that meets iterates until nothing changes."""
        scheduler = self.schedulers[domain]
        assert isinstance(scheduler, MeetingDomain)
        while (turn := scheduler.cluster.meet(self.now)) is not None:
            if turn.ready:
                self.ready(domain, turn.row)
            else:
                self.feed(domain, MayBeEarlier(self.job_id[turn.row]))

    # Results

    def rows(self, domain: int) -> Any:
        """The records of a domain's jobs, in trace order."""
        first = self.first[domain]
        return self.tables.jobs[first : first + len(self.domains[domain].workload)]

    def paired_outcomes(self, domain: int) -> Iterator[tuple[int, PairedJob, int]]:
        """Yield for each submitted paired job its row in the workload, its record, and the node-seconds held so far."""
        for job in self.coschedulers[domain].jobs.values():
            held = job.held_node_seconds
            if job.state is JobState.HOLDING:
                held += job.nodes * (self.now - job.held_since)
            yield self.schedulers[domain].row[job.id] - self.first[domain], job, held

    # Events in, changes out

    def feed(self, domain: int, event: Event) -> None:
        """Pass an event to a domain and carry out the changes that it returns."""
        for change in self.policies[domain].handle(event, self.now):
            match change:  # first what is most frequent
                case Call():
                    self._call(domain, change)
                case Answer():
                    self._reply = change.answer
                case Record():
                    if self.story is not None:
                        self.story(self.now, self.domains[domain].name, change.job, change.what, change.stored())
                case Start() | Wanted() | Ready() | SizeChanged() | Requeued() | Gathered() | CancelJob() | EndRun():
                    pass  # a job starts, which needs no launch here, or is wanted; batch schedulers do nothing else
                case _:
                    assert_never(change)

    # Calls

    def _call(self, domain: int, call: Call) -> None:
        peer = self.index.get(call.peer)
        if self._cut and peer is not None and frozenset((domain, peer)) in self._cut:
            self.feed(domain, CallFailed(call.job, call.request, Failure.UNREACHABLE, call.peer))
            return
        name = self.domains[domain].name
        if peer is None:
            reply = self.link.call(call.peer, Asked(name, call.request), self.now)
        else:
            reply = self._ask(name, peer, call.request)
        if self.story is not None:
            self.story(self.now, name, call.job, type(call.request).__name__, told_of_call(call, reply))
        self.feed(domain, Answered(call.job, call.request, reply, call.peer))

    def _ask(self, name: Domain, peer: int, request: Request) -> Reply:
        core = self.coschedulers[peer]
        if isinstance(request, GetMateJobId):
            answer = core.names.answer(name, request)
            if answer.problem is not MateProblem.TAKEN:
                return answer
        if isinstance(request, GetMateStatus):
            return core.incoming.mate_status(name, request)
        self.feed(peer, Asked(name, request))
        assert self._reply is not None
        return self._reply

    def answer(self, domain: Domain, asked: Asked, now: int) -> Reply:
        """Answer a call from elsewhere."""
        self.now = now
        return self._ask(asked.peer, self.index[domain], asked.request)

    def cut_link(self, one: int, other: int) -> None:
        """Make calls between two domains fail from now on."""
        self._cut.add(frozenset((one, other)))

    def mend_link(self, one: int, other: int) -> None:
        """Undo `cut_link`."""
        self._cut.discard(frozenset((one, other)))
        for domain, peer in ((one, other), (other, one)):
            self.feed(domain, PeerThere(self.domains[peer].name))

    # TimerQueue and the script

    def next_stop(self) -> int:
        """Return the next instant at which timers or events of the script are due, or NEVER."""
        timers, script = int(self.timers.next()), self.script.next()
        return timers if timers < script else script

    def fire_timers(self) -> None:
        """Carry out the script's events of this instant, then fire the timers, in the order in which they were set."""
        self.script.fire(self)
        self._fire(of_slots=False)

    def fire_slots(self) -> None:
        """Fire the timers of slots: after all others, which may give nodes back."""
        self._fire(of_slots=True)

    def _fire(self, *, of_slots: bool) -> None:
        while (due := self.timers.take(self.now, of_slots=of_slots)) is not None:
            domain, event = due
            self.feed(self.index[domain], event)

    # Pairs and groups

    def _link_pairs(self, domains: Sequence[DomainSetup]) -> None:
        for group in self.pairing.groups:
            _check_slots(group, domains)
        names = [domain.name for domain in domains]
        for domain, of in self.index.items():
            for job, named in self.pairing.named(names.index(domain), names).items():
                row = self.first[of] + job
                self._named[row] = named
                self.job_id[row] = str(self.domains[of].workload.job_id[job])
                self.schedulers[of].row[self.job_id[row]] = row
                self.tables.jobs[row]["paired"] = 1
        self.note_paired()

    def note_paired(self) -> None:
        """Dry runs count a job as paired unless coscheduling is off in its domain, or in those of all its mates."""
        off = self._off_elsewhere | {each.ledger.domain for each in self.coschedulers if not each.settings.enabled}
        for setup, scheduler in zip(self.domains, self.schedulers, strict=True):
            for job, row in scheduler.row.items():
                named = self._named[row]
                alone = off.issuperset(named.others)
                scheduler.count_paired(job, setup.name not in off and not alone)


def _check_slots(group: Group, domains: Sequence[DomainSetup]) -> None:
    """Refuse a group that starts by slots only of which some domain, though it coschedules, gives none."""
    for setup in (domains[domain] for domain, _ in group.members) if group.by_slots_only else ():
        if setup.coscheduling.enabled and not setup.coscheduling.slots:
            raise ValueError(
                f"row {group.row} of the pairs has windows or an instant, which need slots in {setup.name}: slots=on"
            )


def _scheduler(tables: Tables, index: int, settings: ClusterSettings) -> BatchDomain:
    if settings.meets:
        from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster  # which others do without

        return MeetingDomain(MeetingCluster(tables, index, settings))
    return BatchDomain(Cluster(tables, index, settings))


def _fill_tables(domains: Sequence[DomainSetup]) -> Tables:
    """Return tables with every job of every domain, in trace order, not yet submitted."""
    units = [d.cluster.partitions.units if d.cluster.partitions else 0 for d in domains]
    tables = new_tables([len(d.workload) for d in domains], units)
    for i, domain in enumerate(domains):
        first = int(tables.domains[i]["first"])
        rows = tables.jobs[first : first + len(domain.workload)]
        for name in ("submit", "nodes", "requested", "run"):
            rows[name] = getattr(domain.workload, name)
        if len(rows) and int(np.max(rows["submit"])) + int(np.max(rows["requested"])) * len(rows) >= MAX_TIME:
            _check_times(domain)
    return tables


def _check_times(domain: DomainSetup) -> None:
    """Refuse a domain whose schedule may pass the largest time: last submission + all run times + longest request."""
    workload = domain.workload
    if int(workload.submit.max()) + int(workload.run.sum()) + int(workload.requested.max()) >= MAX_TIME:
        raise ValueError(f"{domain.name}: its times are too large for a simulation (2^35 s)")
