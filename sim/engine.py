"""N policy domains on one virtual clock with an in-memory link: the shell of the core in a simulation.

The kernels run on through arrivals, completions and iterations; the engine is asked where a paired job is concerned
or a timer is due. It hands events to each `PolicyDomain` and does what comes back. Calls between domains are answered
at once, so equal inputs give equal outputs to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.domain import TIMER_EVENTS, PolicyDomain
from cosched.core.effects import Answer, Call, ClearTimer, Record, SetTimer
from cosched.core.events import (
    Answered,
    Asked,
    CallFailed,
    Event,
    Finished,
    PeerThere,
    Ready,
    Submitted,
)
from cosched.core.job import JobState
from cosched.core.protocol import Failure, GetMateJobId, GetMateStatus, Reply, Request
from cosched.core.scheduling.batch.cluster import Cluster
from cosched.core.scheduling.batch.kernels import loop
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import MAX_TIME, NEVER, Tables, new_tables
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched.sim.batch_domain import BatchDomain
from cosched.sim.timers import Timers
from cosched.workload.jobs import Workload
from cosched.workload.pairing import Pairing

STALLED_ROUNDS = 1000  # a replay gives up after so many instants in a row with nothing but forced releases

Story = Callable[[int, str, str, str, dict[str, object]], None]  # instant, domain, job, what, detail


@dataclass(frozen=True, slots=True)
class DomainSetup:
    """One policy domain of a simulation."""

    name: str
    workload: Workload
    cluster: ClusterSettings
    coscheduling: CoschedulingSettings


class Script(Protocol):
    """Events of a simulation other than those of its jobs; `what_if.WhatIf` is one such script."""

    def next(self) -> int:
        """Return the instant of the next event, or NEVER."""

    def fire(self, engine: Engine) -> None:
        """Carry out the events of the engine's current instant."""


class NoScript:
    """A script without events."""

    def next(self) -> int:
        """Return NEVER."""
        return NEVER

    def fire(self, engine: Engine) -> None:
        """Do nothing."""


class Engine:
    """One simulation. Call `run` once, then read `tables`, `coschedulers` and `now`."""

    def __init__(
        self,
        domains: Sequence[DomainSetup],
        pairing: Pairing,
        script: Script | None = None,
        story: Story | None = None,
    ) -> None:
        self.domains = domains
        self.pairing = pairing
        self.story = story
        self.now = 0
        self.stalled = False  # True: the run ended because only forced releases remained, and they changed nothing
        self.tables = _fill_tables(domains)
        self.first = [int(first) for first in self.tables.domains["first"]]
        self.clusters = [Cluster(self.tables, i, domain.cluster) for i, domain in enumerate(domains)]
        self.coschedulers = [
            Coscheduler(domain.name, domain.cluster.nodes, domain.coscheduling, story=story is not None)
            for domain in domains
        ]
        self.schedulers = [BatchDomain(cluster) for cluster in self.clusters]
        self.policies = list(map(PolicyDomain, self.coschedulers, self.schedulers))
        self.index = {domain.name: i for i, domain in enumerate(domains)}
        self._mate: dict[int, tuple[int, str]] = {}  # row -> (peer, pair name)
        self.job_id: dict[int, str] = {}  # row -> job id, of paired jobs
        self.timers = Timers()
        self.script = script or NoScript()
        self._cut: set[frozenset[int]] = set()
        self._reply: Reply | None = None
        self.job_idle_rounds = 0
        self._link_pairs()

    # The run

    def run(self) -> None:
        """Simulate until no event is left, or only forced releases that change nothing."""
        react = {
            loop.SUBMITTED: self.submitted,
            loop.ENDED: self._ended,
            loop.JOB_READY: self._ready,
        }
        advance = direct(loop.advance)
        while True:
            why, now, domain, row = advance(self.tables, self._next_stop())
            self.now = now
            if why == loop.DONE:
                return
            if why != loop.TIMERS_DUE:
                react[why](domain, row)
            elif self._goes_round_in_circles():
                self.stalled = True
                return
            else:
                self.script.fire(self)
                self._fire_timers()

    def submitted(self, domain: int, row: int) -> None:
        """Tell a domain that its paired job was submitted."""
        peer, pair = self._mate[row]
        self.feed(domain, Submitted(self.job_id[row], self.domains[peer].name, pair))

    def _ended(self, domain: int, row: int) -> None:
        self.feed(domain, Finished(self.job_id[row], JobState.COMPLETED))

    def _ready(self, domain: int, row: int) -> None:
        nodes = int(self.tables.jobs[row]["nodes"])
        hold_limit = int(self.tables.domains[domain]["hold_limit"])
        self.feed(domain, Ready(self.job_id[row], nodes, hold_limit))

    # Results

    def last_event(self, domain: int) -> int:
        """Return when a domain's last job ended or was submitted, or the end of the run if a job still holds."""
        first = self.first[domain]
        records = self.tables.jobs[first : first + len(self.domains[domain].workload)]
        if (records["state"] == JobState.HOLDING).any():
            return self.now
        return max(int(records["end"].max()), int(records["submit"].max()))

    def paired_outcomes(self, domain: int) -> Iterator[tuple[int, PairedJob, int]]:
        """Yield for each submitted paired job its row in the workload, its record, and the node-seconds held so far."""
        for job in self.coschedulers[domain].jobs.values():
            held = job.held_node_seconds
            if job.state is JobState.HOLDING:
                held += job.nodes * (self.now - job.held_since)
            yield self.schedulers[domain].row[job.id] - self.first[domain], job, held

    # Events in, effects out

    def feed(self, domain: int, event: Event) -> None:
        """Pass an event to a domain and carry out the changes that it returns."""
        for change in self.policies[domain].handle(event, self.now):
            if type(change) is Call:
                self._call(domain, change)
            elif type(change) is Answer:
                self._reply = change.answer
            elif type(change) is SetTimer:
                self.timers.set((domain, change.job, change.timer), change.at)
            elif type(change) is ClearTimer:
                self.timers.clear((domain, change.job, change.timer))
            elif type(change) is Record and self.story is not None:
                self.story(self.now, self.domains[domain].name, change.job, change.what, change.stored())
            # Otherwise a job starts, which needs no launch here, or is wanted.

    # The in-memory link

    def _call(self, domain: int, effect: Call) -> None:
        peer = self.index[effect.peer]
        if self._cut and frozenset((domain, peer)) in self._cut:
            self.feed(domain, CallFailed(effect.job, effect.request, Failure.UNREACHABLE))
            return
        reply = self._ask(domain, peer, effect.request)
        if self.story is not None:
            answer = reply._asdict()
            answer.pop("problem", None)  # text for people, which follows from the other fields
            detail = {"to": effect.peer, **effect.request._asdict(), "answer": answer}
            self.story(self.now, self.domains[domain].name, effect.job, type(effect.request).__name__, detail)
        self.feed(domain, Answered(effect.job, effect.request, reply))

    def _ask(self, domain: int, peer: int, request: Request) -> Reply:
        name, other = self.domains[domain].name, self.coschedulers[peer]
        if type(request) is GetMateJobId:
            return other.incoming.mate_job_id(name, request)
        if type(request) is GetMateStatus:
            return other.incoming.mate_status(name, request)
        self.feed(peer, Asked(name, request))
        assert self._reply is not None
        return self._reply

    # Timers

    def _next_stop(self) -> int:
        """Return the next instant at which kernels must stop for the engine, between completions and submissions."""
        return min(self.timers.next(), self.script.next())

    def _fire_timers(self) -> None:
        while self.timers.next() == self.now:
            domain, job, timer = self.timers.pop()
            self.feed(domain, TIMER_EVENTS[timer](job))

    def _goes_round_in_circles(self) -> bool:
        """Whether only forced releases have happened for long: no job runs or arrives, and no script event is left."""
        records = self.tables.domains[:-1]
        arrivals = records["next_submit"] < records["first"] + records["jobs"]
        if self.script.next() < NEVER or arrivals.any() or records["completions"].any():
            self.job_idle_rounds = 0
        self.job_idle_rounds += 1
        return self.job_idle_rounds > STALLED_ROUNDS

    def cut_link(self, one: int, other: int) -> None:
        """Make calls between two domains fail from now on."""
        self._cut.add(frozenset((one, other)))

    def mend_link(self, one: int, other: int) -> None:
        """Undo `cut_link`."""
        self._cut.discard(frozenset((one, other)))
        for domain, peer in ((one, other), (other, one)):
            self.feed(domain, PeerThere(self.domains[peer].name))

    # Pairs

    def _link_pairs(self) -> None:
        pairing = self.pairing
        for number, domains, jobs in zip(pairing.row, pairing.domain, pairing.job, strict=True):
            a, b = int(domains[0]), int(domains[1])
            rows = self.first[a] + int(jobs[0]), self.first[b] + int(jobs[1])
            for row, domain, peer in ((rows[0], a, b), (rows[1], b, a)):
                self._mate[row] = peer, str(number)
                self.job_id[row] = str(self.domains[domain].workload.job_id[row - self.first[domain]])
                self.schedulers[domain].row[self.job_id[row]] = row
                self.tables.jobs[row]["paired"] = 1
        self.note_paired()

    def note_paired(self) -> None:
        """Dry runs count a job as paired unless coscheduling is off in its domain or its mate's."""
        on = [coscheduler.settings.enabled for coscheduler in self.coschedulers]
        for domain, scheduler in enumerate(self.schedulers):
            for job, row in scheduler.row.items():
                scheduler.count_paired(job, on[domain] and on[self._mate[row][0]])


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
