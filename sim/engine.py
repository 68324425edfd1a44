"""N policy domains on one virtual clock with an in-memory link: the shell of the core in a simulation.

The kernels run on through arrivals, completions and iterations; the engine is asked where a paired job is concerned
or a timer is due. It hands events to each domain's `Coscheduler` and carries the effects out. Calls between domains
are answered at once, so equal inputs give equal outputs to the byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cosched.core.cluster import Cluster, ClusterSettings
from cosched.core.coscheduling import Coscheduler
from cosched.core.effects import (
    Answer,
    Call,
    ClearTimer,
    Hold,
    Record,
    Release,
    Reschedule,
    SetTimer,
    Start,
    Timer,
    Try,
    Yield,
)
from cosched.core.events import (
    Answered,
    Asked,
    CallFailed,
    Event,
    Finished,
    NodesLost,
    PatienceOver,
    Ready,
    ReleaseDue,
    RetryDue,
    Submitted,
    Tried,
)
from cosched.core.job import JobState
from cosched.core.kernel import loop
from cosched.core.kernel.tables import MAX_TIME, NEVER, Tables, new_tables
from cosched.core.mates import PairedJob
from cosched.core.protocol import Failure, GetMateJobId, GetMateStatus, Reply, Request
from cosched.core.settings import CoschedulingSettings, Scheme
from sim.pairing import Pairing
from sim.script import Action, ScriptedEvent
from sim.workload import Workload

STALLED_ROUNDS = 1000  # instants in a row at which only forced releases happen, until a replay gives up

Story = Callable[[int, str, str, str, dict[str, object]], None]  # instant, domain, job, what, detail


@dataclass(frozen=True, slots=True)
class DomainSetup:
    """One policy domain of a simulation."""

    name: str
    workload: Workload
    cluster: ClusterSettings
    coscheduling: CoschedulingSettings


class Engine:
    """One simulation; `run` it once, then read `tables`, `coschedulers`, `now`."""

    def __init__(
        self,
        domains: Sequence[DomainSetup],
        pairing: Pairing,
        script: Sequence[ScriptedEvent] = (),
        story: Story | None = None,
    ) -> None:
        self.domains = domains
        self.pairing = pairing
        self.story = story
        self.now = 0
        self.stalled = False  # only forced releases were left to happen, and they changed nothing
        self.tables = _fill_tables(domains)
        self.first = [int(first) for first in self.tables.domains["first"]]
        self.clusters = [Cluster(self.tables, i, domain.cluster) for i, domain in enumerate(domains)]
        self.coschedulers = [
            Coscheduler(domain.name, domain.cluster.nodes, domain.coscheduling, story=story is not None)
            for domain in domains
        ]
        self._index = {domain.name: i for i, domain in enumerate(domains)}
        self._mate: dict[int, tuple[int, str]] = {}  # row -> (peer, pair name)
        self._id: dict[int, str] = {}  # row -> job id, of paired jobs
        self._row: list[dict[str, int]] = [{} for _ in domains]
        self._timers: list[tuple[int, int, int, str, Timer]] = []
        self._timer_at: dict[tuple[int, str, Timer], int] = {}
        self._sequence = 0
        self._script = sorted(script, key=lambda event: event.time)
        self._scripted = 0
        self._cut: set[frozenset[int]] = set()
        self._reply: Reply | None = None
        self._idle_rounds = 0
        self.releases = [0] * len(domains)
        self._link_pairs()

    # The run

    def run(self) -> None:
        """Simulate until nothing will ever happen again, or only releases happen that change nothing."""
        react = {
            loop.SUBMITTED: self._submitted,
            loop.ENDED: self._ended,
            loop.JOB_READY: self._ready,
        }
        while True:
            why, now, domain, row = loop.advance(self.tables, self._next_stop())
            self.now = now
            if why == loop.DONE:
                return
            if why != loop.TIMERS_DUE:
                react[why](domain, row)
            elif self._goes_round_in_circles():
                self.stalled = True
                return
            else:
                self._fire_script()
                self._fire_timers()

    def _submitted(self, domain: int, row: int) -> None:
        peer, pair = self._mate[row]
        self._feed(domain, Submitted(self._id[row], self.domains[peer].name, pair))

    def _ended(self, domain: int, row: int) -> None:
        self._feed(domain, Finished(self._id[row], JobState.COMPLETED))

    def _ready(self, domain: int, row: int) -> None:
        nodes = int(self.tables.jobs[row]["nodes"])
        hold_limit = int(self.tables.domains[domain]["hold_limit"])
        self._feed(domain, Ready(self._id[row], nodes, hold_limit))

    # What came of it

    def last_event(self, domain: int) -> int:
        """Instant of the domain's last event: a job's end or submission, or the end of the run if a hold was left."""
        first = self.first[domain]
        records = self.tables.jobs[first : first + len(self.domains[domain].workload)]
        if (records["state"] == JobState.HOLDING).any():
            return self.now
        return max(int(records["end"].max()), int(records["submit"].max()))

    def paired_outcomes(self, domain: int) -> Iterator[tuple[int, PairedJob, int]]:
        """Of each submitted paired job: row in the workload, the coscheduler's record, node-seconds held until now."""
        for job in self.coschedulers[domain].mates.jobs.values():
            held = job.held_node_seconds
            if job.state is JobState.HOLDING:
                held += job.nodes * (self.now - job.held_since)
            yield self._row[domain][job.id] - self.first[domain], job, held

    # Events in, effects out

    def _feed(self, domain: int, event: Event) -> None:
        for effect in self.coschedulers[domain].handle(event, self.now):
            CARRY_OUT[type(effect)](self, domain, effect)

    def _start(self, domain: int, effect: Start) -> None:
        self.clusters[domain].start(self._row[domain][effect.job], self.now)

    def _hold(self, domain: int, effect: Hold) -> None:
        self.clusters[domain].hold(self._row[domain][effect.job], self.now, effect.until)

    def _yield(self, domain: int, effect: Yield) -> None:
        self.clusters[domain].pass_over(self._row[domain][effect.job], self.now, effect.boost)

    def _release(self, domain: int, effect: Release) -> None:
        self.releases[domain] += 1
        self.clusters[domain].release(self._row[domain][effect.job], self.now)

    def _try(self, domain: int, effect: Try) -> None:
        started = self.clusters[domain].try_start(self._row[domain][effect.job], self.now, effect.wanted_until)
        self._feed(domain, Tried(effect.job, started))

    def _reschedule(self, domain: int, effect: Reschedule) -> None:  # noqa: ARG002
        self.clusters[domain].reschedule()

    def _record(self, domain: int, effect: Record) -> None:
        if self.story is not None:
            self.story(self.now, self.domains[domain].name, effect.job, effect.what, effect.detail)

    # The in-memory link

    def _call(self, domain: int, effect: Call) -> None:
        peer = self._index[effect.peer]
        if self._cut and frozenset((domain, peer)) in self._cut:
            self._feed(domain, CallFailed(effect.job, effect.request, Failure.UNREACHABLE))
            return
        reply = self._ask(domain, peer, effect.request)
        if self.story is not None:
            detail = {"to": effect.peer, **effect.request._asdict(), "answer": reply._asdict()}
            self.story(self.now, self.domains[domain].name, effect.job, type(effect.request).__name__, detail)
        self._feed(domain, Answered(effect.job, effect.request, reply))

    def _ask(self, domain: int, peer: int, request: Request) -> Reply:
        name, other = self.domains[domain].name, self.coschedulers[peer]
        if type(request) is GetMateJobId:
            return other.mate_job_id(name, request)
        if type(request) is GetMateStatus:
            return other.mate_status(name, request)
        self._feed(peer, Asked(name, request))
        assert self._reply is not None
        return self._reply

    def _answer(self, domain: int, effect: Answer) -> None:  # noqa: ARG002
        self._reply = effect.answer

    # Timers

    def _set_timer(self, domain: int, effect: SetTimer) -> None:
        self._sequence += 1
        self._timer_at[domain, effect.job, effect.timer] = effect.at
        heapq.heappush(self._timers, (effect.at, self._sequence, domain, effect.job, effect.timer))

    def _clear_timer(self, domain: int, effect: ClearTimer) -> None:
        self._timer_at.pop((domain, effect.job, effect.timer), None)

    def _next_stop(self) -> int:
        """The next instant at which the engine wants to be asked between completions and submissions."""
        return self._next_timer()

    def _next_timer(self) -> int:
        """The next instant of a timer in force or of a scripted event, or NEVER."""
        timers = self._timers
        while timers and self._timer_at.get((timers[0][2], timers[0][3], timers[0][4])) != timers[0][0]:
            heapq.heappop(timers)
        instant = timers[0][0] if timers else NEVER
        return min(instant, self._script[self._scripted].time) if self._scripted < len(self._script) else instant

    def _fire_timers(self) -> None:
        while self._next_timer() == self.now:
            _, _, domain, job, timer = heapq.heappop(self._timers)
            del self._timer_at[domain, job, timer]
            self._feed(domain, TIMER_EVENTS[timer](job))

    def _goes_round_in_circles(self) -> bool:
        """Whether only forced releases were left to happen for a long time: nobody runs, nobody arrives, no script."""
        records = self.tables.domains[:-1]
        arrivals = records["next_submit"] < records["first"] + records["jobs"]
        if self._scripted < len(self._script) or arrivals.any() or records["completions"].any():
            self._idle_rounds = 0
        self._idle_rounds += 1
        return self._idle_rounds > STALLED_ROUNDS

    # Scripted events

    def _fire_script(self) -> None:
        while self._scripted < len(self._script) and self._script[self._scripted].time == self.now:
            event = self._script[self._scripted]
            self._scripted += 1
            SCRIPTED[event.action](self, event)

    def _cancel(self, event: ScriptedEvent) -> None:
        domain, row = self._index[event.domain], event.row + self.first[self._index[event.domain]]
        cluster = self.clusters[domain]
        before = cluster.state(row)
        cluster.cancel(row, self.now)
        if row not in self._id or before.final:
            return
        if before is JobState.PENDING:
            self._submitted(domain, row)  # so that its mate learns of it
        self._feed(domain, Finished(self._id[row], JobState.CANCELLED))

    def _drain(self, event: ScriptedEvent) -> None:
        self.clusters[self._index[event.domain]].drain(event.nodes)

    def _down(self, event: ScriptedEvent) -> None:
        domain = self._index[event.domain]
        cluster = self.clusters[domain]
        cluster.drain(event.nodes)
        for row in cluster.occupants() if cluster.draining else ():
            if cluster.draining == 0:
                break
            self._lose(domain, row)

    def _lose(self, domain: int, row: int) -> None:
        state = self.clusters[domain].lose(row, self.now)
        if row in self._id:
            job = self._id[row]
            self._feed(domain, NodesLost(job) if state is JobState.QUEUED else Finished(job, state))

    def _up(self, event: ScriptedEvent) -> None:
        self.clusters[self._index[event.domain]].bring_back(event.nodes)

    def _switch_scheme(self, event: ScriptedEvent) -> None:
        domain = self._index[event.domain]
        coscheduler = self.coschedulers[domain]
        coscheduler.configure(replace(coscheduler.settings, scheme=Scheme(event.scheme)))
        self._note_alone()
        self.clusters[domain].reschedule()

    def _cut_link(self, event: ScriptedEvent) -> None:
        self._cut.add(frozenset((self._index[event.domain], self._index[event.peer])))

    def _mend_link(self, event: ScriptedEvent) -> None:
        self._cut.discard(frozenset((self._index[event.domain], self._index[event.peer])))

    # Pairs

    def _link_pairs(self) -> None:
        pairing = self.pairing
        for number, domains, jobs in zip(pairing.row, pairing.domain, pairing.job, strict=True):
            a, b = int(domains[0]), int(domains[1])
            rows = self.first[a] + int(jobs[0]), self.first[b] + int(jobs[1])
            for row, domain, peer in ((rows[0], a, b), (rows[1], b, a)):
                self._mate[row] = peer, str(number)
                self._id[row] = str(self.domains[domain].workload.job_id[row - self.first[domain]])
                self._row[domain][self._id[row]] = row
                self.tables.jobs[row]["paired"] = 1
        self._note_alone()

    def _note_alone(self) -> None:
        """Jobs here or whose mate is where coscheduling is off count as unpaired in thought."""
        on = [coscheduler.settings.enabled for coscheduler in self.coschedulers]
        for domain, rows in enumerate(self._row):
            for row in rows.values():
                self.clusters[domain].count_alone(row, not (on[domain] and on[self._mate[row][0]]))


CARRY_OUT: dict[type, Callable[[Engine, int, Any], None]] = {
    Start: Engine._start,
    Hold: Engine._hold,
    Yield: Engine._yield,
    Release: Engine._release,
    Try: Engine._try,
    Reschedule: Engine._reschedule,
    Record: Engine._record,
    Call: Engine._call,
    Answer: Engine._answer,
    SetTimer: Engine._set_timer,
    ClearTimer: Engine._clear_timer,
}

TIMER_EVENTS: dict[Timer, type] = {
    Timer.RELEASE: ReleaseDue,
    Timer.PATIENCE: PatienceOver,
    Timer.RETRY: RetryDue,
}

SCRIPTED: dict[Action, Callable[[Engine, ScriptedEvent], None]] = {
    Action.CANCEL: Engine._cancel,
    Action.DRAIN: Engine._drain,
    Action.DOWN: Engine._down,
    Action.UP: Engine._up,
    Action.SCHEME: Engine._switch_scheme,
    Action.CUT: Engine._cut_link,
    Action.MEND: Engine._mend_link,
}


def _fill_tables(domains: Sequence[DomainSetup]) -> Tables:
    """Tables with every job of every domain, in trace order, not yet submitted."""
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
    """A schedule that may pass the largest time is refused: the sum of all run times after the last submission."""
    workload = domain.workload
    if int(workload.submit.max()) + int(workload.run.sum()) + int(workload.requested.max()) >= MAX_TIME:
        raise ValueError(f"{domain.name}: its times are too large for a simulation (2^35 s)")
